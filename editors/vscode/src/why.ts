/** "Why is this line here?" as a hover, as a CodeLens and as a command. */

import * as vscode from "vscode";
import type { Reason, Revision } from "./answers";
import type { Client } from "./client";
import { functionsOf, type Span } from "./functions";
import { reasonsHtml } from "./html";
import { hoverMarkdown, lensTitle } from "./markdown";
import type { Panels } from "./panel";
import { commitsOf, isEmpty, type Reasons } from "./reasons";
import { enabled, folderOf, signalOf } from "./workspace";

const AGE = 120_000;
const ENTRIES = 50;
const LINES = 500;
const SYMBOLS = 100;
/** Refs of sessions: what stands in a link of a hover can be nothing else. */
const SESSION = /^capsule:[0-9A-Z]{26}$/;
/** Milliseconds that the extension of a language has to name the functions of a file. */
const PATIENCE = 1000;
const ATTEMPTS = 7;

export interface Explanation {
  reasons: Reasons;
  /** The commit of each line, from 0. */
  commits: (Revision | undefined)[];
}

interface Entry {
  time: number;
  reasons: Promise<Reasons>;
}

/** What is known of the open files. kinen is asked every two minutes at most: typing changes no commit. */
export class Explanations {
  private readonly entries = new Map<string, Entry>();
  private readonly lines = new Map<string, { time: number; reason: Promise<Reason | undefined> }>();
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly client: Client) {}

  forget(): void {
    this.entries.clear();
    this.lines.clear();
  }

  /**
   * Why a line is there; undefined if that is unknown, or if the line has another number in the file
   * than in the editor. One question at a time: a file of functions would ask many at once.
   */
  async reason(document: vscode.TextDocument, line: number): Promise<Reason | undefined> {
    const folder = folderOf(document.uri);
    if (document.uri.scheme !== "file" || !folder || document.isDirty) {
      return undefined;
    }
    const place = `${document.uri.fsPath}:${line}`;
    const entry = this.lines.get(place);
    if (entry && Date.now() - entry.time < AGE) {
      return entry.reason;
    }
    const reason = this.last.then(() => this.client.reason(folder, document.uri.fsPath, line));
    this.last = reason.catch(() => undefined);
    this.lines.delete(place);
    this.lines.set(place, { time: Date.now(), reason });
    reason.catch(() => this.lines.delete(place));
    const oldest = this.lines.keys().next().value;
    if (this.lines.size > LINES && oldest !== undefined) {
      this.lines.delete(oldest);
    }
    return reason;
  }

  /** Why the lines of a document are there; undefined for what is not a file of the workspace. */
  async of(document: vscode.TextDocument): Promise<Explanation | undefined> {
    const folder = folderOf(document.uri);
    if (document.uri.scheme !== "file" || !folder) {
      return undefined;
    }
    const reasons = await this.reasons(folder, document.uri.fsPath);
    return { reasons, commits: commitsOf(reasons, document.getText().split(/\r?\n/)) };
  }

  private reasons(folder: string, file: string): Promise<Reasons> {
    const entry = this.entries.get(file);
    if (entry && Date.now() - entry.time < AGE) {
      return entry.reasons;
    }
    const reasons = this.client.why(folder, file);
    this.entries.delete(file);
    this.entries.set(file, { time: Date.now(), reasons });
    reasons.catch(() => this.entries.delete(file));
    const oldest = this.entries.keys().next().value;
    if (this.entries.size > ENTRIES && oldest !== undefined) {
      this.entries.delete(oldest);
    }
    return reasons;
  }
}

export class WhyHover implements vscode.HoverProvider {
  constructor(private readonly explanations: Explanations) {}

  async provideHover(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Hover | undefined> {
    const explanation = await quietly(this.explanations.of(document));
    if (!explanation || isEmpty(explanation.reasons)) {
      return undefined;
    }
    const commit = explanation.commits[position.line];
    const why = await quietly(this.explanations.reason(document, position.line));
    const markdown = new vscode.MarkdownString(hoverMarkdown(explanation.reasons, commit, Date.now(), why));
    markdown.isTrusted = { enabledCommands: ["kinen.openSession"] };
    markdown.supportHtml = false;
    if (why && SESSION.test(why.session)) {
      markdown.appendMarkdown(`\n\n[Open the session](command:kinen.openSession?${encodeURIComponent(JSON.stringify([why.session]))})`);
    }
    return new vscode.Hover(markdown);
  }
}

/** A lens of a function, which gets its title when it is seen. */
class FunctionLens extends vscode.CodeLens {
  constructor(
    range: vscode.Range,
    readonly document: vscode.TextDocument,
    readonly reasons: Reasons,
    readonly commit: Revision,
    readonly about: number,
  ) {
    super(range);
  }
}

export class WhyLens implements vscode.CodeLensProvider<vscode.CodeLens> {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;
  private readonly attempts = new Map<string, number>();

  constructor(private readonly explanations: Explanations) {}

  refresh(): void {
    this.attempts.clear();
    this.changed.fire();
  }

  /**
   * Later, and each time later: kinen may be busy, and VS Code does not tell when the extension of a
   * language has started.
   */
  private askAgain(document: vscode.TextDocument): undefined {
    const file = document.uri.toString();
    const attempt = this.attempts.get(file) ?? 0;
    if (attempt < ATTEMPTS) {
      this.attempts.set(file, attempt + 1);
      setTimeout(() => this.changed.fire(), 1000 * 2 ** attempt);
    }
    return undefined;
  }

  async provideCodeLenses(document: vscode.TextDocument, token: vscode.CancellationToken): Promise<vscode.CodeLens[]> {
    if (!enabled("codeLens")) {
      return [];
    }
    const explanation = await this.explanations.of(document).catch(() => this.askAgain(document));
    if (!explanation || isEmpty(explanation.reasons) || token.isCancellationRequested) {
      return [];
    }
    const { reasons, commits } = explanation;
    const whole = lens(document, 0, lensTitle(reasons));
    const parts = (await this.functions(document)).slice(0, SYMBOLS).flatMap(({ start, end }) => {
      const line = newestLine(commits, start, end);
      const commit = line === undefined ? undefined : commits[line];
      const range = new vscode.Range(start, 0, start, 0);
      return commit && line !== undefined ? [new FunctionLens(range, document, reasons, commit, line)] : [];
    });
    return [whole, ...parts];
  }

  async resolveCodeLens(seen: vscode.CodeLens): Promise<vscode.CodeLens> {
    if (!(seen instanceof FunctionLens)) {
      return seen;
    }
    const { document, reasons, commit, about, range } = seen;
    const why = await quietly(this.explanations.reason(document, about));
    return lens(document, range.start.line, lensTitle(reasons, commit, Date.now(), why), about);
  }

  /** As the extension of the language names them; until it answers, by their first words. */
  private async functions(document: vscode.TextDocument): Promise<Span[]> {
    const pause = new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE, undefined));
    const symbols = await quietly(Promise.race([symbolsOf(document), pause]));
    if (symbols) {
      return symbols;
    }
    this.askAgain(document);
    return functionsOf(document.languageId, document.getText().split(/\r?\n/));
  }
}

function lens(document: vscode.TextDocument, line: number, title: string, about = line): vscode.CodeLens {
  const command = { command: "kinen.why", title, tooltip: "Why is this here?", arguments: [document.uri.toString(), about] };
  return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), command);
}

/** The functions, classes and methods of a document; undefined where no extension knows its symbols. */
async function symbolsOf(document: vscode.TextDocument): Promise<Span[] | undefined> {
  const answer = await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>(
    "vscode.executeDocumentSymbolProvider",
    document.uri,
  );
  return answer?.length ? spansOf(answer) : undefined;
}

function spansOf(symbols: vscode.DocumentSymbol[]): Span[] {
  const { Function, Method, Constructor, Class, Interface, Struct, Enum, Namespace, Module } = vscode.SymbolKind;
  const outer = [Class, Interface, Struct, Enum, Namespace, Module];
  const shown = [Function, Method, Constructor, Class, Interface, Struct, Enum];
  const ranged = symbols.filter((symbol) => "range" in symbol); // older extensions give a location only
  return ranged.flatMap((symbol) => [
    ...(shown.includes(symbol.kind) ? [{ start: symbol.range.start.line, end: symbol.range.end.line }] : []),
    ...(outer.includes(symbol.kind) ? spansOf(symbol.children ?? []) : []),
  ]);
}

/** The line of a range that was changed last. */
function newestLine(commits: (Revision | undefined)[], start: number, end: number): number | undefined {
  let newest: number | undefined;
  for (let line = start; line <= end; line += 1) {
    const commit = commits[line];
    const best = newest === undefined ? undefined : commits[newest];
    if (commit && (!best || commit.at > best.at)) {
      newest = line;
    }
  }
  return newest;
}

/** An answer, or nothing where it failed: a hover must not interrupt with an error. */
async function quietly<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch {
    return undefined;
  }
}

/** The command: for a line of a CodeLens, else for the line of the cursor. */
export async function showWhy(
  explanations: Explanations,
  panels: Panels,
  openSession: (folder: string, ref: string) => Promise<void>,
  place?: { uri: vscode.Uri; line: number },
): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const uri = place?.uri ?? editor?.document.uri;
  if (!uri) {
    void vscode.window.showInformationMessage("Open a file, and put the cursor into the line to ask about.");
    return;
  }
  const folder = folderOf(uri);
  const document = await vscode.workspace.openTextDocument(uri);
  const line = place?.line ?? editor?.selection.active.line ?? 0;
  const title = "kinen: looking for the reason";
  const location = vscode.ProgressLocation.Notification;
  const explanation = await vscode.window.withProgress({ location, title, cancellable: true }, (_, token) => {
    const stopped = new Promise<undefined>((resolve) => signalOf(token).addEventListener("abort", () => resolve(undefined)));
    return Promise.race([explanations.of(document), stopped]);
  });
  if (!explanation || !folder) {
    return;
  }
  const { reasons, commits } = explanation;
  const why = await quietly(explanations.reason(document, line));
  const name = `${vscode.workspace.asRelativePath(uri)}:${line + 1}`;
  const code = line < document.lineCount ? document.lineAt(line).text : "";
  const body = reasonsHtml(reasons, name, code, commits[line], Date.now(), why);
  panels.show("why", `Why ${name}`, body, (index) => {
    const session = [...reasons.sessions.map((item) => item.ref), why?.session][index];
    if (session) {
      void openSession(folder, session);
    }
  });
}
