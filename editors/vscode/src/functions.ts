/** The functions and classes of a file by their first words, for languages that no extension knows. */

export interface Span {
  /** Lines from 0; the last one belongs to it. */
  start: number;
  end: number;
}

const MODIFIERS =
  "(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|pub(?:\\([a-z]+\\))?|unsafe|inline|const)\\s+)*";
const KEYWORDS = "(?:def|class|function\\*?|fn|func|fun|interface|struct|trait|impl|enum|sub|proc)";
const DECLARATION = new RegExp(`^(\\s*)${MODIFIERS}${KEYWORDS}\\b\\s*[\\w$(<]`);
const ARROW = /^(\s*)(?:export\s+)?(?:const|let|var)\s+[\w$]+\s*=\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*(?::[^=]+)?=>|[\w$]+\s*=>)/;
/** A line that still belongs to what is above it although it is not indented. */
const CLOSING = /^\s*(?:[)\]}]|\{\s*$|end\b)/;
const PROSE = ["markdown", "plaintext", "restructuredtext", "latex", "log"];

/** Where functions begin and end. They end before the next line that is not indented further. */
export function functionsOf(language: string, lines: string[]): Span[] {
  if (PROSE.includes(language)) {
    return [];
  }
  return lines.flatMap((line, start) => {
    const match = DECLARATION.exec(line) ?? ARROW.exec(line);
    return match ? [{ start, end: endOf(lines, start, width(match[1] ?? "")) }] : [];
  });
}

function endOf(lines: string[], start: number, indent: number): number {
  let end = start;
  for (let index = start + 1; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    if (!line.trim()) {
      continue;
    }
    const own = width(/^\s*/.exec(line)?.[0] ?? "");
    if (own < indent || (own === indent && !CLOSING.test(line))) {
      break;
    }
    end = index;
  }
  return end;
}

function width(indent: string): number {
  return indent.replaceAll("\t", "    ").length;
}
