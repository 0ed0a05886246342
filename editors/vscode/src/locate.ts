/** Where the `kinen` command is. Nothing that a workspace brings decides it. */

import { accessSync, constants, realpathSync, statSync } from "node:fs";
import * as path from "node:path";

export interface Places {
  /** The `kinen.path` of the user's settings; empty to look at the PATH. */
  configured: string;
  PATH: string;
  /** Folders to look into after the PATH, which editors started from a menu do not have in full. */
  usual: string[];
  /** Folders whose programs are not run: those of a workspace that is not trusted. */
  avoided: string[];
}

/** The absolute path of kinen; undefined if it is not installed. */
export function locate(places: Places): string | undefined {
  if (places.configured) {
    return path.isAbsolute(places.configured) && runnable(places.configured, places.avoided)
      ? places.configured
      : undefined;
  }
  const names = process.platform === "win32" ? ["kinen.exe"] : ["kinen"];
  // A relative entry of the PATH would be looked up in the workspace.
  const folders = places.PATH.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  folders.push(...places.usual);
  const candidates = folders.flatMap((folder) => names.map((name) => path.join(folder, name)));
  return candidates.find((candidate) => runnable(candidate, places.avoided));
}

function runnable(file: string, avoided: string[]): boolean {
  try {
    accessSync(file, constants.X_OK);
    const target = realpathSync(file);
    const places = [path.dirname(file), target];
    return statSync(target).isFile() && !places.some((place) => avoided.some((folder) => inside(place, folder)));
  } catch {
    return false;
  }
}

/** Whether a path is a folder or something below it. */
export function inside(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative === "" || (!relative.startsWith("..") && !path.isAbsolute(relative));
}
