/** Webviews: pages with a policy and a nonce of their own, which can run no command of VS Code. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { page } from "./html";

export function options(extension: vscode.Uri): vscode.WebviewOptions {
  return {
    enableScripts: true,
    enableCommandUris: false,
    enableForms: true,
    localResourceRoots: [vscode.Uri.joinPath(extension, "media")],
  };
}

export function fill(webview: vscode.Webview, extension: vscode.Uri, body: string): void {
  const media = (name: string): string =>
    webview.asWebviewUri(vscode.Uri.joinPath(extension, "media", name)).toString();
  const nonce = randomBytes(18).toString("base64");
  webview.html = page(body, webview.cspSource, nonce, media("panel.css"), media("panel.js"));
}

/** Panels beside the editor, at most one of each kind: a new answer takes the place of the last. */
export class Panels {
  private readonly open = new Map<string, vscode.WebviewPanel>();
  private readonly listeners = new Map<string, vscode.Disposable>();

  constructor(private readonly extension: vscode.Uri) {}

  show(kind: string, title: string, body: string, onSession?: (index: number) => void): void {
    const panel = this.open.get(kind) ?? this.create(kind);
    panel.title = title;
    this.listeners.get(kind)?.dispose();
    this.listeners.set(
      kind,
      panel.webview.onDidReceiveMessage((message: { session?: unknown }) => {
        if (typeof message.session === "number" && message.session >= 0) {
          onSession?.(message.session);
        }
      }),
    );
    fill(panel.webview, this.extension, `<div class="page">${body}</div>`);
    panel.reveal(undefined, true);
  }

  private create(kind: string): vscode.WebviewPanel {
    const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel(`kinen.${kind}`, "kinen", place, options(this.extension));
    panel.iconPath = vscode.Uri.joinPath(this.extension, "media", "kinen.svg");
    panel.onDidDispose(() => this.open.delete(kind));
    this.open.set(kind, panel);
    return panel;
  }
}
