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
    const after: (Origin | undefined)[] = [];
    let place = 0;
    for (const hunk of hunksOf(patch)) {
      if (hunk.start > FILE_LINES) {
        continue;
      }
      while (place < hunk.start) {
        after.push(file[place++]);
      }
      place = rewrite(hunk, file, place, revision, after);
    }
    while (place < file.length) {
      after.push(file[place++]);
    }
    file = after;
  });
  return file;
}

/** Adds the lines of a hunk after its commit; the place in the file that follows it. */
function rewrite(
  hunk: Hunk,
  file: (Origin | undefined)[],
  place: number,
  revision: number,
  after: (Origin | undefined)[],
): number {
  for (const line of hunk.lines) {
    if (line.startsWith("+")) {
      after.push({ revision, text: line.slice(1) });
    } else {
      const origin = file[place++];
      if (line.startsWith(" ")) {
        after.push(origin?.text === line.slice(1) ? origin : undefined);
      }
    }
  }
  return place;
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
      const same = places.get(origin.text);
      if (same) {
        same.push(index);
      } else {
        places.set(origin.text, [index]);
      }
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

/** The nearest of some places, which ascend; of two at the same distance the earlier. */
function nearest(places: number[], index: number): number | undefined {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] ?? index) < index) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  let best: number | undefined;
  for (const place of places.slice(Math.max(0, low - 1), low + 1)) {
    const distance = Math.abs(place - index);
    if (distance <= DISTANCE && (best === undefined || distance < Math.abs(best - index))) {
      best = place;
    }
  }
  return best;
}
