import type { Plugin } from "@opencode-ai/plugin"

export const Kinen: Plugin = async ({ directory }) => {
  const briefs = new Map<string, Promise<string>>()
  const answers = new Map<string, string>()
  const subagents = new Set<string>()
  const summaries = new Set<string>()
  const recorded = new Set<string>()

  function send(event: string, sessionID: string, fields: Record<string, unknown> = {}): Promise<string> {
    return hook(event, { session_id: sessionID, cwd: directory, ...fields })
  }

  function begin(sessionID: string, source: string): void {
    briefs.set(sessionID, send("SessionStart", sessionID, { source }))
  }

  /** `opencode run` puts a prompt with spaces into quotes, and a backslash before those in it. */
  function unquoted(text: string): string {
    return /^".*\s.*"$/s.test(text) ? text.slice(1, -1).replaceAll('\\"', '"') : text
  }

  function tool(part: any): void {
    const { status, input, output, error, metadata } = part.state
    if ((status !== "completed" && status !== "error") || recorded.has(part.callID)) return
    recorded.add(part.callID)
    const failed = status === "error"
    void send(failed ? "PostToolUseFailure" : "PostToolUse", part.sessionID, {
      tool_name: part.tool,
      tool_input: input,
      tool_use_id: part.callID,
      ...(failed ? { error } : { tool_response: { output, metadata } }),
    })
  }

  return {
    async config(config: any) {
      config.command = { ...COMMANDS, ...config.command }
    },

    async event({ event }: { event: any }) {
      const about = event.properties
      const sessionID = about?.sessionID ?? about?.info?.id
      if (event.type === "session.created") {
        if (about.info.parentID) {
          subagents.add(sessionID)
          briefs.set(sessionID, send("SubagentStart", about.info.parentID, { agent_id: sessionID }))
        } else begin(sessionID, "startup")
      }
      if (!sessionID || subagents.has(sessionID)) return
      if (event.type === "message.updated" && about.info.summary === true) summaries.add(about.info.id)
      if (event.type === "message.part.updated" && about.part.type === "tool") tool(about.part)
      if (event.type === "session.compacted") begin(sessionID, "compact")
      if (event.type === "session.deleted") void send("SessionEnd", sessionID)
      if (event.type === "session.idle" && answers.has(sessionID)) {
        void send("Stop", sessionID, { last_assistant_message: answers.get(sessionID) })
        answers.delete(sessionID)
      }
    },

    async "chat.message"({ sessionID }, { message, parts }) {
      if (subagents.has(sessionID)) return
      if (!briefs.has(sessionID)) begin(sessionID, "resume")
      const texts = parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [unquoted(part.text)] : []))
      const text = await soon(
        send("UserPromptSubmit", sessionID, { prompt: texts.join("\n"), prompt_id: message.id }),
      )
      if (!text) return
      const id = `prt_${Date.now().toString(16)}kinen`
      parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
    },

    async "experimental.chat.system.transform"({ sessionID }, { system }) {
      // A request for a title has the session's id, but not the folder that every task is told.
      if (!system.some((part) => part.includes(directory))) return
      const text = await soon(briefs.get(sessionID ?? ""))
      if (text) system.push(text)
    },

    async "experimental.text.complete"({ sessionID, messageID }, { text }) {
      if (subagents.has(sessionID)) return
      if (summaries.has(messageID)) void send("PostCompact", sessionID, { compact_summary: text })
      else answers.set(sessionID, text)
    },

    async "experimental.session.compacting"({ sessionID }, { context }) {
      const text = await soon(send("PreCompact", sessionID))
      if (text) context.push(text)
    },

    async dispose() {
      for (const sessionID of briefs.keys()) {
        if (!subagents.has(sessionID)) void send("SessionEnd", sessionID)
      }
    },
  }
}
