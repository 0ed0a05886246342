/** Offers `kinen mcp` to the agents of VS Code, where it has an API for that (1.101 and newer). */

import * as vscode from "vscode";
import { folderOf, settings } from "./workspace";

interface Provider {
  onDidChangeMcpServerDefinitions: vscode.Event<void>;
  provideMcpServerDefinitions(): object[];
}

/** The parts of the API that the oldest VS Code of package.json has no types for. */
interface Newer {
  lm?: { registerMcpServerDefinitionProvider?(id: string, provider: Provider): vscode.Disposable };
  McpStdioServerDefinition?: new (label: string, command: string, words: string[], env: object, version: string) => object;
}

export class McpOffer implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly registration: vscode.Disposable | undefined;

  constructor(private readonly version: string) {
    this.registration = (vscode as unknown as Newer).lm?.registerMcpServerDefinitionProvider?.("kinen.mcp", {
      onDidChangeMcpServerDefinitions: this.changed.event,
      provideMcpServerDefinitions: () => this.definitions(),
    });
  }

  /** Have VS Code ask again: kinen, the folder or the trust in it changed. */
  refresh(): void {
    this.changed.fire();
  }

  dispose(): void {
    this.registration?.dispose();
    this.changed.dispose();
  }

  private definitions(): object[] {
    const Definition = (vscode as unknown as Newer).McpStdioServerDefinition;
    const { program } = settings();
    const folder = folderOf();
    if (!Definition || !program || !folder || !vscode.workspace.isTrusted) {
      return [];
    }
    const server = new Definition("kinen", program, ["mcp"], {}, this.version);
    return [Object.assign(server, { cwd: vscode.Uri.file(folder) })];
  }
}
