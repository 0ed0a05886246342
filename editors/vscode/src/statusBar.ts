/** The status bar: how fresh the index is, and what kinen lacks. */

import * as vscode from "vscode";
import type { Status } from "./answers";
import type { Client } from "./client";
import { Failure } from "./failure";
import { ago, counted, line } from "./text";
import { folderOf, messageOf, report } from "./workspace";

const PERIOD = 60_000;

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("kinen.status", vscode.StatusBarAlignment.Left, 10);
  private timer: NodeJS.Timeout | undefined;
  private last: Status | undefined;
  private failure: unknown;
  private running = false;

  constructor(private readonly client: Client) {
    this.item.name = "kinen";
    this.item.command = "kinen.status";
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.item.dispose();
  }

  /** Ask for the status now, and then every minute while the window has the focus. */
  async refresh(): Promise<void> {
    const folder = folderOf();
    if (!folder || this.running) {
      return;
    }
    this.running = true;
    clearTimeout(this.timer);
    try {
      this.last = await this.client.status(folder);
      this.failure = undefined;
    } catch (error) {
      this.failure = error;
    }
    this.running = false;
    this.draw();
    this.timer = setTimeout(() => void (vscode.window.state.focused ? this.refresh() : undefined), PERIOD);
  }

  /** The command: the status in words, or why there is none. */
  async show(): Promise<void> {
    await this.refresh();
    if (this.failure) {
      await report(this.failure);
    } else if (this.last) {
      await vscode.window.showInformationMessage(details(this.last, Date.now()).join(" · "));
    }
  }

  private draw(): void {
    if (this.failure) {
      const absent = this.failure instanceof Failure && this.failure.reason === "missing";
      this.item.text = absent ? "$(warning) kinen is not installed" : "$(warning) kinen";
      this.item.tooltip = messageOf(this.failure);
    } else if (this.last) {
      this.item.text = `$(history) kinen ${freshness(this.last, Date.now())}`;
      this.item.tooltip = details(this.last, Date.now()).join("\n");
    }
    this.item.show();
  }
}

/** When the index was brought up to date, in a word. */
export function freshness(status: Status, now: number): string {
  const when = ago(status.synced, now);
  return when === "" ? "not indexed" : when === "just now" ? "up to date" : when;
}

export function details(status: Status, now: number): string[] {
  return [
    `space ${line(status.space, 60)}`,
    counted(status.records, "record"),
    `synced ${ago(status.synced, now) || "never"}`,
    ...(status.pending ? [`${counted(status.pending, "chunk")} to embed`] : []),
    ...(status.broken ? [`${counted(status.broken, "broken link")}`] : []),
    status.daemon ? "the daemon runs" : "no daemon",
    ...(status.untrusted.length ? ["its config is not trusted: kinen trust"] : []),
  ];
}
