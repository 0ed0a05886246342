/** The search panel in the side bar: hits with the votes behind each score. */

import * as vscode from "vscode";
import type { Hit } from "./answers";
import type { Client } from "./client";
import { Failure } from "./failure";
import { hitsHtml, SEARCH_BODY } from "./html";
import { fill, options } from "./panel";
import { escapeHtml } from "./text";
import { folderOf, guarded, messageOf } from "./workspace";

export class SearchView implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private hits: Hit[] = [];
  private folder = "";
  private running: AbortController | undefined;
  private waiting = "";

  constructor(
    private readonly client: Client,
    private readonly extension: vscode.Uri,
    private readonly openSession: (folder: string, ref: string) => Promise<void>,
  ) {}

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.webview.options = options(this.extension);
    view.webview.onDidReceiveMessage(guarded((message: Message) => this.receive(message)));
    view.onDidDispose(() => {
      this.view = undefined;
      this.running?.abort();
    });
    fill(view.webview, this.extension, SEARCH_BODY);
  }

  /** Show the panel, with a query in it if there is a text to look for. */
  async show(query = ""): Promise<void> {
    this.waiting = query;
    const ready = this.view !== undefined;
    await vscode.commands.executeCommand("kinen.searchView.focus");
    if (ready) {
      await this.begin();
    }
  }

  private async receive(message: Message): Promise<void> {
    if (message.ready) {
      await this.begin();
    } else if (typeof message.query === "string") {
      await this.search(message.query);
    } else if (typeof message.open === "number" && message.open >= 0) {
      await this.open(this.hits[message.open]);
    }
  }

  private async begin(): Promise<void> {
    const query = this.waiting;
    this.waiting = "";
    await this.view?.webview.postMessage(query ? { query, focus: true } : { focus: true });
    if (query) {
      await this.search(query);
    }
  }

  private async search(query: string): Promise<void> {
    this.running?.abort();
    const controller = new AbortController();
    this.running = controller;
    const html = query.trim() ? await this.answer(query, controller.signal) : "";
    if (this.running === controller && html !== undefined) {
      await this.view?.webview.postMessage({ html });
    }
  }

  /** The hits as HTML, or the message of a failure; undefined if a newer query replaced this one. */
  private async answer(query: string, signal: AbortSignal): Promise<string | undefined> {
    const folder = folderOf();
    if (!folder) {
      return '<p class="failure">Open a folder first.</p>';
    }
    try {
      const answer = await this.client.search(folder, query, signal);
      this.hits = answer.hits;
      this.folder = folder;
      return hitsHtml(answer, Date.now());
    } catch (error) {
      if (error instanceof Failure && error.reason === "cancelled") {
        return undefined;
      }
      return `<p class="failure">${escapeHtml(messageOf(error))}</p>`;
    }
  }

  /** Open a hit's file at its line, or the session that it is part of. */
  private async open(hit: Hit | undefined): Promise<void> {
    if (!hit) {
      return;
    }
    if (hit.file) {
      const place = new vscode.Position(Math.max(0, hit.line - 1), 0);
      const selection = new vscode.Range(place, place);
      await vscode.window.showTextDocument(vscode.Uri.file(hit.file), { selection, preview: true });
    } else if (hit.session) {
      await this.openSession(this.folder, hit.session);
    } else {
      const content = `${hit.ref}\n${hit.at}\n\n${hit.text}\n`;
      const document = await vscode.workspace.openTextDocument({ content, language: "markdown" });
      await vscode.window.showTextDocument(document, { preview: true });
    }
  }
}

interface Message {
  ready?: unknown;
  query?: unknown;
  open?: unknown;
}
