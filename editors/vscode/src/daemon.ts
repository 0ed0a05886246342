/** Ask the running daemon over its socket. It is optional: the command gives the same answers. */

import { lstatSync } from "node:fs";
import { request } from "node:http";
import { homedir } from "node:os";
import * as path from "node:path";
import { Failure } from "./failure";

const ANSWER_BYTES = 16 * 1024 * 1024;
const SECTIONS = ["INDEX", "SEARCH", "RECALL", "PRIVACY", "GIT", "DISTILL", "CONSOLIDATION", "SPACE"];

export interface Question {
  socket: string;
  method: "GET" | "POST";
  path: string;
  space: string;
  body?: unknown;
  milliseconds: number;
  signal?: AbortSignal | undefined;
}

/** The folder of kinen's data. */
export function dataFolder(env: NodeJS.ProcessEnv, platform: string, home = homedir()): string {
  if (env.KINEN_HOME) {
    return path.resolve(env.KINEN_HOME);
  }
  if (platform === "darwin") {
    return path.join(home, "Library", "Application Support", "kinen");
  }
  const data = env.XDG_DATA_HOME ?? "";
  return path.join(path.isAbsolute(data) ? data : path.join(home, ".local", "share"), "kinen");
}

/** The daemon's socket; empty where there is none, or where this process has settings of its own. */
export function socketPath(env: NodeJS.ProcessEnv, platform: string): string {
  const own = Object.keys(env).some((name) => SECTIONS.some((section) => name.startsWith(`KINEN_${section}_`)));
  if (platform === "win32" || own) {
    return "";
  }
  const socket = path.join(dataFolder(env, platform), "daemon.sock");
  try {
    return lstatSync(socket).isSocket() ? socket : ""; // a link may lead to a socket of another user
  } catch {
    return "";
  }
}

/** The body of the daemon's answer; undefined if it does not answer, or answers with an error. */
export function ask(question: Question): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const content = question.body === undefined ? undefined : JSON.stringify(question.body);
    const sent = request({
      socketPath: question.socket,
      method: question.method,
      path: question.path,
      headers: {
        Accept: "application/json",
        "X-Kinen-Space": encodeURI(question.space),
        ...(content === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(content) }),
      },
      timeout: question.milliseconds,
      ...(question.signal ? { signal: question.signal } : {}),
    });
    sent.on("timeout", () => sent.destroy());
    sent.on("error", () => {
      if (question.signal?.aborted) {
        reject(new Failure("cancelled", "cancelled"));
      } else {
        resolve(undefined);
      }
    });
    sent.on("response", (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on("data", (data: Buffer) => {
        bytes += data.length;
        if (bytes > ANSWER_BYTES) {
          sent.destroy();
        }
        parts.push(data);
      });
      response.on("error", () => resolve(undefined));
      response.on("aborted", () => resolve(undefined));
      response.on("end", () => resolve(response.statusCode === 200 ? Buffer.concat(parts).toString("utf8") : undefined));
    });
    sent.end(content);
  });
}
