/** Offers `kinen mcp` to the agents of VS Code, where it has an API for that (1.101 and newer). */

import * as vscode from "vscode";
import { folderOf, settings } from "./workspace";

interface Servers {
  registerMcpServerDefinitionProvider(id: string, provider: { provideMcpServerDefinitions(): unknown[] }): vscode.Disposable;
}

type Server = new (label: string, command: string, words: string[], env?: Record<string, string>, version?: string) => object;

export function offerMcp(version: string): vscode.Disposable | undefined {
  const { lm, McpStdioServerDefinition: Definition } = vscode as unknown as {
    lm?: Partial<Servers>;
    McpStdioServerDefinition?: Server;
  };
  if (!lm?.registerMcpServerDefinitionProvider || !Definition) {
    return undefined;
  }
  const provideMcpServerDefinitions = (): unknown[] => {
    const { program } = settings();
    const folder = folderOf();
    if (!program || !folder || !vscode.workspace.isTrusted) {
      return [];
    }
    const server = new Definition("kinen", program, ["mcp"], {}, version);
    return [Object.assign(server, { cwd: vscode.Uri.file(folder) })];
  };
  return lm.registerMcpServerDefinitionProvider("kinen.mcp", { provideMcpServerDefinitions });
}
