/** The timeline of sessions in the side bar: what was intended, and what came of it. */

import * as vscode from "vscode";
import type { Session } from "./answers";
import type { Client } from "./client";
import { timelineHtml } from "./html";
import type { Panels } from "./panel";
import { ago, counted, line } from "./text";
import { folderOf, messageOf } from "./workspace";

export class SessionsView implements vscode.TreeDataProvider<Session> {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  /** Set by the extension once the view exists. */
  view: vscode.TreeView<Session> | undefined;

  constructor(
    private readonly client: Client,
    private readonly panels: Panels,
  ) {}

  refresh(): void {
    this.changed.fire();
  }

  async getChildren(parent?: Session): Promise<Session[]> {
    const folder = folderOf();
    if (parent || !folder) {
      return [];
    }
    try {
      const sessions = await this.client.sessions(folder);
      this.message("");
      return sessions;
    } catch (error) {
      this.message(messageOf(error));
      return [];
    }
  }

  getTreeItem(session: Session): vscode.TreeItem {
    const item = new vscode.TreeItem(line(session.title || session.id, 80));
    item.id = session.ref;
    const when = ago(session.started, Date.now());
    item.description = session.outcome ? `→ ${line(session.outcome, 80)}` : [session.status, when].filter((fact) => fact).join(", ");
    item.tooltip = tooltip(session, when);
    item.iconPath = icon(session);
    item.command = { command: "kinen.openSession", title: "Open Session", arguments: [session.ref] };
    return item;
  }

  async open(folder: string, ref: string): Promise<void> {
    const timeline = await this.client.session(folder, ref);
    this.panels.show("session", line(timeline.session.title || ref, 40), timelineHtml(timeline, Date.now()));
  }

  private message(text: string): void {
    if (this.view) {
      this.view.message = text;
    }
  }
}

function icon(session: Session): vscode.ThemeIcon {
  if (session.status === "open" || session.status === "in-progress") {
    return new vscode.ThemeIcon("record", new vscode.ThemeColor("charts.green"));
  }
  return new vscode.ThemeIcon(session.rounds ? "notebook" : "comment-discussion");
}

/** Plain text: a tooltip of markdown could hold links of a record. */
function tooltip(session: Session, when: string): string {
  const counts = [
    session.prompts ? counted(session.prompts, "prompt") : "",
    session.edits ? counted(session.edits, "edit") : "",
    session.commands ? counted(session.commands, "command") : "",
    session.errors ? counted(session.errors, "error") : "",
    session.rounds ? counted(session.rounds, "round") : "",
  ].filter((count) => count);
  const facts = [session.agent, session.status, when].filter((fact) => fact).join(", ");
  const lines = [line(session.title, 200), session.outcome ? `→ ${line(session.outcome, 300)}` : "", facts, counts.join(", ")];
  return lines.filter((entry) => entry).join("\n");
}
