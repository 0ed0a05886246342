{{- define "kinen.labels" -}}
app.kubernetes.io/name: kinen-team
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "kinen.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- define "kinen.database" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.database.secret }}
      key: {{ .Values.database.key }}
{{- end }}
{{- define "kinen.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
