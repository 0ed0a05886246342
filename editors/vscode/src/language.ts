/** Links and tags of notes: `kinen lsp` over standard input and output, one server per folder. */

import * as vscode from "vscode";
import { LanguageClient, RevealOutputChannelOn, TransportKind } from "vscode-languageclient/node";
import { messageOf, settings } from "./workspace";

export class Languages implements vscode.Disposable {
  private readonly clients = new Map<string, LanguageClient>();

  constructor(private readonly output: vscode.OutputChannel) {}

  /** Start a server for each folder that has none, and stop those of folders that are gone. */
  async update(): Promise<void> {
    const folders = vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : [];
    const local = folders.filter((folder) => folder.uri.scheme === "file");
    const open = new Set(local.map((folder) => folder.uri.toString()));
    for (const [key, client] of this.clients) {
      if (!open.has(key)) {
        this.clients.delete(key);
        await stop(client);
      }
    }
    const { program } = settings();
    await Promise.all(program ? local.map((folder) => this.start(program, folder)) : []);
  }

  async restart(): Promise<void> {
    const clients = [...this.clients.values()];
    this.clients.clear();
    await Promise.all(clients.map(stop));
    await this.update();
  }

  dispose(): void {
    for (const client of this.clients.values()) {
      void stop(client);
    }
  }

  private async start(program: string, folder: vscode.WorkspaceFolder): Promise<void> {
    const key = folder.uri.toString();
    if (this.clients.has(key)) {
      return;
    }
    const server = { command: program, args: ["lsp"], transport: TransportKind.stdio, options: { cwd: folder.uri.fsPath } };
    const pattern = `${folder.uri.fsPath}/**/*.{md,markdown}`;
    const client = new LanguageClient("kinen", "kinen", server, {
      documentSelector: [{ scheme: "file", language: "markdown", pattern }],
      workspaceFolder: folder,
      outputChannel: this.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      markdown: { isTrusted: false, supportHtml: false },
    });
    this.clients.set(key, client);
    try {
      await client.start();
    } catch (error) {
      this.output.appendLine(`kinen lsp did not start: ${messageOf(error)}`);
    }
  }
}

/** A server that did not start cannot be stopped either. */
async function stop(client: LanguageClient): Promise<void> {
  try {
    await client.dispose(2000);
  } catch {
    // It is gone already.
  }
}
