/** Marks lines that changed after the newest memory about their file was recorded. */

import * as vscode from "vscode";
import { driftOf, gist } from "./reasons";
import { ago, escapeMarkdown, line } from "./text";
import type { Explanations } from "./why";
import { enabled } from "./workspace";

const PAUSE = 400;

export class DriftMarks implements vscode.Disposable {
  private readonly mark = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderStyle: "dotted",
    borderWidth: "0 0 0 2px",
    borderColor: new vscode.ThemeColor("editorWarning.foreground"),
    overviewRulerColor: new vscode.ThemeColor("editorWarning.foreground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  private readonly timers = new Map<vscode.TextEditor, NodeJS.Timeout>();

  constructor(private readonly explanations: Explanations) {}

  /** Mark an editor's lines, soon: the user may be switching through files. */
  update(editor: vscode.TextEditor | undefined): void {
    if (!editor) {
      return;
    }
    clearTimeout(this.timers.get(editor));
    this.timers.set(
      editor,
      setTimeout(() => {
        this.timers.delete(editor);
        void this.draw(editor);
      }, PAUSE),
    );
  }

  dispose(): void {
    this.timers.forEach((timer) => clearTimeout(timer));
    this.mark.dispose();
  }

  private async draw(editor: vscode.TextEditor): Promise<void> {
    const explanation = enabled("drift") ? await this.explanations.of(editor.document).catch(() => undefined) : undefined;
    const drift = explanation && driftOf(explanation.reasons, explanation.commits);
    if (!drift) {
      editor.setDecorations(this.mark, []);
      return;
    }
    const recorded = ago(drift.memory.at, Date.now());
    const remark = `changed after its memory of ${recorded}`;
    let previous = -2;
    const marks = [...drift.lines].map(([number, commit]): vscode.DecorationOptions => {
      const begins = number !== previous + 1;
      previous = number;
      // Not by appendText: its spaces do not break, and words are cut at the edge.
      const hover = `“${escapeMarkdown(line(commit.subject, 80))}” changed this line after what kinen remembers of the file: ${escapeMarkdown(line(gist(drift.memory), 160))}`;
      return {
        range: new vscode.Range(number, 0, number, Number.MAX_SAFE_INTEGER),
        hoverMessage: new vscode.MarkdownString(hover),
        ...(begins ? { renderOptions: { after: remarkOptions(remark) } } : {}),
      };
    });
    editor.setDecorations(this.mark, marks);
  }
}

function remarkOptions(contentText: string): vscode.ThemableDecorationAttachmentRenderOptions {
  return { contentText, color: new vscode.ThemeColor("kinen.driftForeground"), fontStyle: "italic", margin: "0 0 0 2em" };
}
