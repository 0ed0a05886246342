/** Run the `kinen` command: without a shell, with a limit of time and of output. */

import { spawn } from "node:child_process";
import { Failure, missing, refused } from "./failure";

const OUTPUT_BYTES = 16 * 1024 * 1024;

export interface Call {
  program: string;
  words: string[];
  folder: string;
  milliseconds: number;
  signal?: AbortSignal | undefined;
  input?: string;
}

/** What it printed. Exit 1 means that there was nothing to find, and is an answer too. */
export function run(call: Call): Promise<string> {
  return new Promise((resolve, reject) => {
    if (call.signal?.aborted) {
      reject(new Failure("cancelled", "cancelled"));
      return;
    }
    const child = spawn(call.program, call.words, {
      cwd: call.folder,
      env: { ...process.env, NO_COLOR: "1", PYTHONUTF8: "1" },
      shell: false,
      windowsHide: true,
    });
    const output: Buffer[] = [];
    let bytes = 0;
    let stderr = "";
    const end = (failure: Failure): void => {
      child.kill();
      settle();
      reject(failure);
    };
    const slow = new Failure("slow", `kinen ${call.words[0]}: no answer within ${call.milliseconds / 1000} s`);
    const timer = setTimeout(() => end(slow), call.milliseconds);
    const cancel = (): void => end(new Failure("cancelled", "cancelled"));
    const settle = (): void => {
      clearTimeout(timer);
      call.signal?.removeEventListener("abort", cancel);
    };
    call.signal?.addEventListener("abort", cancel, { once: true });
    child.stdout.on("data", (data: Buffer) => {
      bytes += data.length;
      if (bytes > OUTPUT_BYTES) {
        end(new Failure("damaged", `kinen ${call.words[0]}: more than ${OUTPUT_BYTES} bytes`));
        return;
      }
      output.push(data);
    });
    child.stderr.on("data", (data: Buffer) => {
      stderr = (stderr + data.toString("utf8")).slice(-10_000);
    });
    child.on("error", (error: NodeJS.ErrnoException) => {
      settle();
      reject(error.code === "ENOENT" ? missing() : new Failure("refused", error.message));
    });
    child.on("close", (code) => {
      settle();
      if (code === 0 || (code === 1 && bytes > 0)) {
        resolve(Buffer.concat(output).toString("utf8"));
      } else {
        reject(refused(stderr));
      }
    });
    child.stdin.on("error", () => undefined); // it may end before it has read everything
    child.stdin.end(call.input ?? "");
  });
}
