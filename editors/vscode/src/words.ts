/** The command lines that the extension runs. What the user typed stands after `--`. */

export const LIMIT = 20;
/** Commits of a file that are looked at: each costs kinen a call of git. */
export const REVISIONS = 40;

export function searchWords(query: string): string[] {
  return ["search", "--json", "--limit", String(LIMIT), "--", query];
}

export function statusWords(): string[] {
  return ["status", "--json"];
}

export function sessionsWords(): string[] {
  return ["session", "list", "--json", "--limit", "100"];
}

export function sessionWords(ref: string): string[] {
  return ["session", "show", "--json", "--", ref];
}

export function historyWords(file: string): string[] {
  return ["history", "--json", "--patch", "--limit", String(REVISIONS), "--", file];
}

/** Without a model: a hover must cost nothing. */
export function whyWords(target: string): string[] {
  return ["why", "--json", "--distiller", "none", "--", target];
}

export function contextWords(file: string): string[] {
  return ["context", "--json", "--file", file];
}

/** The text comes on standard input: it may be long, and begin with a dash. */
export function checkpointWords(type: string): string[] {
  return ["checkpoint", "--json", "--type", type, "-"];
}

export function plansWords(): string[] {
  return ["plan", "list", "--json"];
}

export function planCheckWords(id: string, step: number, undo: boolean): string[] {
  return ["plan", "check", "--json", ...(undo ? ["--undo"] : []), "--", String(step), id];
}

export function planActivateWords(id: string): string[] {
  return ["plan", "activate", "--json", "--", id];
}

/** The text of the plan comes on standard input. */
export function planSaveWords(title: string): string[] {
  return ["plan", "save", "--json", "--activate", "--", title, "-"];
}
