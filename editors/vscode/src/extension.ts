/** kinen in VS Code: what each part needs, and what makes it look again. */

import * as vscode from "vscode";
import { Client } from "./client";
import { newPlan, saveCheckpoint, showPlan } from "./commands";
import { DriftMarks } from "./drift";
import { Language } from "./language";
import { McpOffer } from "./mcp";
import { Panels } from "./panel";
import { SearchView } from "./searchView";
import { SessionsView } from "./sessionsView";
import { StatusBar } from "./statusBar";
import { Explanations, showWhy, WhyHover, WhyLens } from "./why";
import { folderOf, guarded, settings } from "./workspace";

const FILES = { scheme: "file" };

export function activate(context: vscode.ExtensionContext): void {
  const client = new Client(settings);
  const panels = new Panels(context.extensionUri);
  const sessions = new SessionsView(client, panels);
  const openSession = guarded((folder: string, ref: string) => sessions.open(folder, ref));
  const search = new SearchView(client, context.extensionUri, openSession);
  const explanations = new Explanations(client);
  const lens = new WhyLens(explanations);
  const drift = new DriftMarks(explanations);
  const status = new StatusBar(client);
  const output = vscode.window.createOutputChannel("kinen");
  const language = new Language(output);
  const mcp = new McpOffer((context.extension.packageJSON as { version: string }).version);
  sessions.view = vscode.window.createTreeView("kinen.sessions", { treeDataProvider: sessions });

  const refresh = (): void => {
    explanations.forget();
    lens.refresh();
    vscode.window.visibleTextEditors.forEach((editor) => drift.update(editor));
    sessions.refresh();
    void status.refresh();
  };
  const begin = (): void => {
    refresh();
    mcp.refresh();
    void language.start();
  };
  const why = (uri?: unknown, line?: unknown): Promise<void> => {
    const place = typeof uri === "string" && typeof line === "number" ? { uri: vscode.Uri.parse(uri), line } : undefined;
    return showWhy(explanations, panels, openSession, place);
  };
  const written = (work: () => Promise<void>) =>
    guarded(async () => {
      if (!vscode.workspace.isTrusted) {
        throw new Error("trust this workspace first: nothing is written before");
      }
      await work();
      refresh();
    });
  const command = (name: string, work: (...words: unknown[]) => Promise<void>): vscode.Disposable =>
    vscode.commands.registerCommand(`kinen.${name}`, guarded(work));

  context.subscriptions.push(
    sessions.view,
    drift,
    status,
    language,
    mcp,
    output,
    vscode.window.registerWebviewViewProvider("kinen.searchView", search, { webviewOptions: { retainContextWhenHidden: true } }),
    vscode.languages.registerHoverProvider(FILES, new WhyHover(explanations)),
    vscode.languages.registerCodeLensProvider(FILES, lens),
    command("search", () => search.show(selectedText())),
    command("why", why),
    vscode.commands.registerCommand("kinen.refresh", refresh),
    command("status", () => status.show()),
    command("openSession", async (ref) => {
      const folder = folderOf();
      if (typeof ref === "string" && folder) {
        await openSession(folder, ref);
      }
    }),
    vscode.commands.registerCommand("kinen.checkpoint", written(() => saveCheckpoint(client))),
    vscode.commands.registerCommand("kinen.plan", written(() => showPlan(client))),
    vscode.commands.registerCommand("kinen.newPlan", written(() => newPlan(client))),
    vscode.window.onDidChangeActiveTextEditor((editor) => drift.update(editor)),
    vscode.workspace.onDidSaveTextDocument(() => void status.refresh()),
    vscode.window.onDidChangeWindowState((state) => {
      if (state.focused) {
        sessions.refresh();
        void status.refresh();
      }
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => begin()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => begin()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("kinen")) {
        refresh();
      }
      if (change.affectsConfiguration("kinen.path")) {
        mcp.refresh();
        void language.restart();
      }
    }),
  );
  begin();
}

/** What is selected in the editor, if it is one line. */
function selectedText(): string {
  const editor = vscode.window.activeTextEditor;
  const text = editor?.document.getText(editor.selection) ?? "";
  return text.includes("\n") ? "" : text.slice(0, 200);
}
