/** Links and tags of notes: `kinen lsp` over standard input and output, one server for all folders. */

import * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient, RevealOutputChannelOn, TransportKind } from "vscode-languageclient/node";
import { messageOf, settings } from "./workspace";

const RESTARTS = 3;

/** Writes its errors to the output only: an older kinen, or one without the extra, has no server. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

export class Language implements vscode.Disposable {
  private client: LanguageClient | undefined;

  constructor(private readonly output: vscode.OutputChannel) {}

  /** Start the server, if the workspace is trusted and kinen is installed. */
  async start(): Promise<void> {
    const { program } = settings();
    const folder = vscode.workspace.workspaceFolders?.find((entry) => entry.uri.scheme === "file");
    if (this.client || !program || !folder || !vscode.workspace.isTrusted) {
      return;
    }
    const client = createClient(program, folder.uri.fsPath, this.output);
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.output.appendLine(`kinen lsp did not start: ${messageOf(error)}`);
      this.output.appendLine("Notes have no links and tags in the editor: pipx install 'kinen[all]' brings the server.");
    }
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  dispose(): void {
    void this.stop();
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.dispose(2000);
    } catch {
      // A server that did not start cannot be stopped.
    }
  }
}

function createClient(program: string, cwd: string, output: vscode.OutputChannel): LanguageClient {
  let restarts = 0;
  const server = { command: program, args: ["lsp"], transport: TransportKind.stdio, options: { cwd } };
  return new QuietClient("kinen", "kinen", server, {
    documentSelector: [{ scheme: "file", language: "markdown" }],
    outputChannel: output,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationFailedHandler: () => false,
    markdown: { isTrusted: false, supportHtml: false },
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        restarts += 1;
        const action = restarts > RESTARTS ? CloseAction.DoNotRestart : CloseAction.Restart;
        return { action, handled: true };
      },
    },
  });
}
