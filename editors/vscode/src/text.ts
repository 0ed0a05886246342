/** Texts of records as they are shown: nothing in them is markup, a command or a control character. */

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/g;
const TAGS = /[\u{e0000}-\u{e007f}]/gu;

/** A text with its control characters and changes of the reading direction spelled out. */
export function visible(text: string): string {
  const spelled = (character: string): string => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  };
  return text
    .replace(/\r\n/g, "\n")
    .replace(CONTROL, spelled)
    .replace(DIRECTION, spelled)
    .replace(TAGS, spelled);
}

/** The beginning of a text as one line of at most `limit` characters. */
export function line(text: string, limit = 100): string {
  const flat = Array.from(visible(text).replace(/\s+/g, " ").trim());
  return flat.length <= limit ? flat.join("") : `${flat.slice(0, limit - 1).join("").trimEnd()}…`;
}

/** A line for a place where VS Code shows `$(name)` as an icon. */
export function label(text: string, limit = 100): string {
  return line(text, limit).replace(/\$\(/g, "$ (");
}

/** A text as HTML text or as the value of a quoted attribute. */
export function escapeHtml(text: string): string {
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return visible(text).replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** A text as markdown that shows just these characters: no link, image, emphasis or HTML. */
export function escapeMarkdown(text: string): string {
  return line(text, 400)
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/[\\`*_{}[\]()#+\-.!|~>$:@/]/g, "\\$&");
}

/** "3 commits", "1 commit". */
export function counted(count: number, noun: string): string {
  const plural = /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

const UNITS: [string, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** The time of day here; empty if it is invalid. */
export function clock(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** How long ago a time was: "2 hours ago"; the date if it is more than 30 days; empty if it is invalid. */
export function ago(time: string, now: number): string {
  const at = Date.parse(time);
  if (Number.isNaN(at)) {
    return "";
  }
  const passed = now - at;
  if (passed > 30 * 86_400_000) {
    return time.slice(0, 10);
  }
  for (const [unit, length] of UNITS) {
    if (passed >= length) {
      return `${counted(Math.floor(passed / length), unit)} ago`;
    }
  }
  return "just now";
}
