// Words, characters and times. Times are UTC, as on the pages of `kinen web`.
const HIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;
const CONTROLS = { "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v" };

/** Text without characters that control the reading direction or are not seen. */
function visible(text) {
  return text.replace(/\r\n/g, "\n").replace(HIDDEN, (character) => {
    if (CONTROLS[character]) return CONTROLS[character];
    const code = character.codePointAt(0).toString(16);
    if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
    return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  });
}

const STOP_WORDS = new Set(
  (
    "a about am an and any are as at be been being but by can could did do does for from had has have he her here him " +
    "his how i if in into is it its just me my no not of on or our really she should so some than that the their them " +
    "then there these they this those to too us very was we were what when where which who whom whose why will with " +
    "would you your"
  ).split(" "),
);
const ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD = /[A-Za-z0-9]+/g;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const PARTS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g;
const CJK = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]/;

const wordsOf = (text) => text.match(ASCII.test(text) ? ASCII_WORD : WORD) ?? [];

/** A word without its English endings: `retries`, `retried` and `retry` are one term. */
function stem(word) {
  if (word.length < 4 || /[^a-z]/.test(word)) return word;
  let root = word;
  if (/[^aeiou]ies$/.test(root)) root = `${root.slice(0, -3)}y`;
  else if (/(?:ch|sh|ss|x|z)es$/.test(root)) root = root.slice(0, -2);
  else if (/[^suia]s$/.test(root)) root = root.slice(0, -1);
  if (/[^aeiou]ied$/.test(root)) return `${root.slice(0, -3)}y`;
  const ending = /(?:ing|ed)$/.exec(root);
  if (ending && ending.index >= 3 && /[aeiouy]/.test(root.slice(0, ending.index)))
    root = root.slice(0, ending.index).replace(/([bdfgmnprt])\1$/, "$1");
  return root.length > 3 && root.endsWith("e") ? root.slice(0, -1) : root;
}

/** The terms of a word: itself, and the parts of an identifier; each CJK character is a term. */
function termsOf(word) {
  const lower = word.toLowerCase();
  if (CJK.test(word)) return [...lower];
  if (!ASCII.test(word)) return [stem(lower.normalize("NFKD").replace(/\p{M}/gu, ""))];
  const parts = /[a-z][A-Z0-9]|[A-Z]{2}[a-z]|[A-Z0-9]\d|\d[A-Za-z]/.test(word)
    ? (word.match(PARTS) ?? [])
    : [];
  const every = parts.length > 1 ? [lower, ...parts.map((part) => part.toLowerCase())] : [lower];
  return every.filter((term) => !STOP_WORDS.has(term)).map(stem);
}

const pad = (number) => String(number).padStart(2, "0");
const dayOf = (at) => (at ? new Date(at).toISOString().slice(0, 10) : "");
const minuteOf = (at) => (at ? new Date(at).toISOString().slice(0, 16).replace("T", " ") : "");
const clockOf = (at) => (at ? new Date(at).toISOString().slice(11, 16) : "");
const counted = (count, noun) =>
  `${count.toLocaleString("en")} ${count === 1 ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;

function duration(milliseconds) {
  const minutes = Math.round(milliseconds / 60000);
  if (minutes < 1) return "";
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${pad(minutes % 60)}`;
}

/** Text on one line, cut at a word. */
function excerpt(text, limit) {
  const line = text
    .slice(0, limit * 8)
    .split(/\s+/)
    .filter(Boolean)
    .join(" ");
  if (line.length <= limit) return line;
  return `${line.slice(0, limit - 1).replace(/\s+\S*$/, "")}…`;
}
