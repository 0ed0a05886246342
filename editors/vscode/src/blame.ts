/** Which commit wrote each line of a file, from the patches of its commits. */

export interface Origin {
  /** The place of the commit in the list. */
  revision: number;
  text: string;
}

interface Hunk {
  start: number;
  lines: string[];
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/;
const DISTANCE = 300;
const FILE_LINES = 200_000;

/** The hunks of a unified diff of one file. */
export function hunksOf(patch: string): Hunk[] {
  const hunks: Hunk[] = [];
  let hunk: Hunk | undefined;
  for (const line of patch.split("\n")) {
    const head = HUNK.exec(line);
    if (head) {
      const empty = head[2] === "0";
      hunk = { start: Number(head[1]) - (empty ? 0 : 1), lines: [] };
      hunks.push(hunk);
    } else if (line.startsWith("diff --git ")) {
      hunk = undefined;
    } else if (hunk && /^[ +-]/.test(line)) {
      hunk.lines.push(line);
    }
  }
  return hunks;
}

/**
 * The lines of the newest version, each with the commit that wrote it; undefined where the commit is not
 * among these. The patches are oldest first, and the oldest need not be the first of the file.
 */
export function replay(patches: string[]): (Origin | undefined)[] {
  let file: (Origin | undefined)[] = [];
  patches.forEach((patch, revision) => {
    let shift = 0;
    for (const hunk of hunksOf(patch)) {
      const start = hunk.start + shift;
      if (start > FILE_LINES) {
        continue;
      }
      while (file.length < start) {
        file.push(undefined);
      }
      const removed = hunk.lines.filter((line) => !line.startsWith("+")).length;
      const before = file.slice(start, start + removed);
      const after = rewritten(hunk, before, revision);
      file = [...file.slice(0, start), ...after, ...file.slice(start + removed)];
      shift += after.length - removed;
    }
  });
  return file;
}

/** The lines of a hunk after its commit. */
function rewritten(hunk: Hunk, before: (Origin | undefined)[], revision: number): (Origin | undefined)[] {
  const after: (Origin | undefined)[] = [];
  let place = 0;
  for (const line of hunk.lines) {
    if (line.startsWith("+")) {
      after.push({ revision, text: line.slice(1) });
    } else {
      const unchanged = line.startsWith(" ");
      const origin = before[place];
      if (unchanged) {
        after.push(origin?.text === line.slice(1) ? origin : undefined);
      }
      place += 1;
    }
  }
  return after;
}

/**
 * The commit of each line of a document, as a place in the list; -1 where it is unknown. The document may
 * have changes that no commit has: a line is looked up by its text near its place.
 */
export function blame(patches: string[], document: string[]): number[] {
  const file = replay(patches);
  const places = new Map<string, number[]>();
  file.forEach((origin, index) => {
    if (origin) {
      places.set(origin.text, [...(places.get(origin.text) ?? []), index]);
    }
  });
  return document.map((text, index) => {
    const here = file[index];
    if (here?.text === text) {
      return here.revision;
    }
    if (text.trim().length < 4) {
      return -1; // a bracket alone stands everywhere
    }
    const near = nearest(places.get(text) ?? [], index);
    return near === undefined ? -1 : (file[near]?.revision ?? -1);
  });
}

function nearest(places: number[], index: number): number | undefined {
  let best: number | undefined;
  for (const place of places) {
    const distance = Math.abs(place - index);
    if (distance <= DISTANCE && (best === undefined || distance < Math.abs(best - index))) {
      best = place;
    }
  }
  return best;
}
