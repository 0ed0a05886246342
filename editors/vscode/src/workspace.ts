/** What of the workspace and the settings the rest of the extension uses. */

import { homedir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Settings } from "./client";
import { locate } from "./locate";
import { Failure, INSTALL } from "./failure";

/** Settings of the user; a workspace cannot set them (`scope` is `machine` in package.json). */
export function settings(): Settings {
  const configured = vscode.workspace.getConfiguration("kinen");
  const folders = vscode.workspace.workspaceFolders ?? [];
  return {
    program: locate({
      configured: userValue(configured.inspect<string>("path")),
      PATH: process.env.PATH ?? "",
      usual: [path.join(homedir(), ".local", "bin")],
      avoided: vscode.workspace.isTrusted ? [] : folders.map((folder) => folder.uri.fsPath),
    }),
    milliseconds: 1000 * Math.min(300, Math.max(1, configured.get<number>("timeout", 20))),
    env: process.env,
  };
}

/** The value of the user's own settings, whatever the workspace says. */
function userValue(value: { globalValue?: string; defaultValue?: string } | undefined): string {
  const program = value?.globalValue ?? value?.defaultValue;
  return typeof program === "string" ? program : "";
}

export function enabled(name: "codeLens" | "drift"): boolean {
  return vscode.workspace.getConfiguration("kinen").get<boolean>(name, true);
}

/** The folder that a question is about: that of the file, else of the open editor, else the first. */
export function folderOf(uri?: vscode.Uri): string | undefined {
  const place = uri ?? vscode.window.activeTextEditor?.document.uri;
  const folder = place?.scheme === "file" ? vscode.workspace.getWorkspaceFolder(place) : undefined;
  const first = vscode.workspace.workspaceFolders?.find((entry) => entry.uri.scheme === "file");
  return uri ? folder?.uri.fsPath : (folder ?? first)?.uri.fsPath;
}

/** A signal that is aborted when VS Code no longer needs the answer. */
export function signalOf(token: vscode.CancellationToken): AbortSignal {
  const controller = new AbortController();
  if (token.isCancellationRequested) {
    controller.abort();
  }
  token.onCancellationRequested(() => controller.abort());
  return controller.signal;
}

/** The message of an error, for the user. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Show why a command failed; offer what to do where kinen is missing. */
export async function report(error: unknown): Promise<void> {
  if (error instanceof Failure && error.reason === "cancelled") {
    return;
  }
  if (error instanceof Failure && error.reason === "missing") {
    const choice = await vscode.window.showWarningMessage(error.message, "Copy the Command", "Open Settings");
    if (choice === "Copy the Command") {
      await vscode.env.clipboard.writeText(INSTALL);
    } else if (choice === "Open Settings") {
      await vscode.commands.executeCommand("workbench.action.openSettings", "kinen.path");
    }
    return;
  }
  await vscode.window.showErrorMessage(`kinen: ${messageOf(error)}`);
}

/** Wrap a command so that its errors are shown. */
export function guarded<Words extends unknown[]>(work: (...words: Words) => Promise<void>) {
  return async (...words: Words): Promise<void> => {
    try {
      await work(...words);
    } catch (error) {
      await report(error);
    }
  };
}
