/** The one client of kinen: the daemon over its socket where it has an endpoint, else the command. */

import * as answers from "./answers";
import { ask, socketPath } from "./daemon";
import { Failure, missing } from "./failure";
import { run } from "./process";
import { type Reasons, reasonsOf } from "./reasons";
import * as words from "./words";

export interface Settings {
  /** The absolute path of kinen; undefined if it is not installed. */
  program: string | undefined;
  milliseconds: number;
  env: NodeJS.ProcessEnv;
}

export class Client {
  /** `settings` is called for each question: the user may change them, or install kinen meanwhile. */
  constructor(private readonly settings: () => Settings) {}

  async search(folder: string, query: string, signal?: AbortSignal): Promise<answers.Hits> {
    const body = { query, limit: words.LIMIT };
    const answer = await this.fromDaemon("POST", "/v1/search", folder, body, signal);
    return answers.hitsOf(answer ?? (await this.fromCommand(folder, words.searchWords(query), signal)));
  }

  async status(folder: string, signal?: AbortSignal): Promise<answers.Status> {
    const answer = await this.fromDaemon("GET", "/v1/status", folder, undefined, signal);
    return answers.statusOf(answer ?? (await this.fromCommand(folder, words.statusWords(), signal)));
  }

  async sessions(folder: string, signal?: AbortSignal): Promise<answers.Session[]> {
    return answers.sessionsOf(await this.fromCommand(folder, words.sessionsWords(), signal));
  }

  async session(folder: string, ref: string, signal?: AbortSignal): Promise<answers.Timeline> {
    return answers.timelineOf(await this.fromCommand(folder, words.sessionWords(ref), signal));
  }

  /** What `kinen history` and `kinen context` know of a file; a file without commits has none. */
  async why(folder: string, file: string, signal?: AbortSignal): Promise<Reasons> {
    const [history, context] = await Promise.all([
      this.orEmpty(this.fromCommand(folder, words.historyWords(file), signal)),
      this.orEmpty(this.fromCommand(folder, words.contextWords(file), signal)),
    ]);
    return reasonsOf(file, answers.revisionsOf(history), answers.itemsOf(context));
  }

  /** Why a line, counted from 0, is there; undefined where kinen knows nothing of the file. */
  async reason(folder: string, file: string, line: number, signal?: AbortSignal): Promise<answers.Reason | undefined> {
    const target = `${file}:${line + 1}`;
    const known = await this.fromDaemon("POST", "/v1/why", folder, { target }, signal);
    const answer = known ?? (await this.orEmpty(this.fromCommand(folder, words.whyWords(target), signal)));
    const reason = answers.reasonOf(answer);
    return reason.reason || reason.session ? reason : undefined;
  }

  async checkpoint(folder: string, text: string, type: string): Promise<void> {
    await this.fromCommand(folder, words.checkpointWords(type), undefined, text);
  }

  async plans(folder: string, signal?: AbortSignal): Promise<answers.Plan[]> {
    return answers.plansOf(await this.fromCommand(folder, words.plansWords(), signal));
  }

  async checkStep(folder: string, id: string, step: number, undo: boolean): Promise<answers.Plan> {
    return answers.planOf(await this.fromCommand(folder, words.planCheckWords(id, step, undo)));
  }

  async activatePlan(folder: string, id: string): Promise<void> {
    await this.fromCommand(folder, words.planActivateWords(id));
  }

  async savePlan(folder: string, title: string, text: string): Promise<answers.Plan> {
    return answers.planOf(await this.fromCommand(folder, words.planSaveWords(title), undefined, text));
  }

  private async fromDaemon(
    method: "GET" | "POST",
    path: string,
    folder: string,
    body: unknown,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown> | undefined> {
    const { env, milliseconds } = this.settings();
    const socket = socketPath(env, process.platform);
    if (!socket) {
      return undefined;
    }
    const answer = await ask({ socket, method, path, space: folder, body, milliseconds, signal });
    try {
      return answer === undefined ? undefined : answers.parse(answer);
    } catch {
      return undefined;
    }
  }

  private async fromCommand(
    folder: string,
    line: string[],
    signal?: AbortSignal,
    input?: string,
  ): Promise<Record<string, unknown>> {
    const { program, milliseconds } = this.settings();
    if (!program) {
      throw missing();
    }
    const output = await run({
      program,
      words: line,
      folder,
      milliseconds,
      signal,
      ...(input === undefined ? {} : { input }),
    });
    try {
      return answers.parse(output);
    } catch {
      throw new Failure("damaged", `kinen ${line[0]}: the answer is not JSON; is kinen up to date?`);
    }
  }

  /** An answer, or an empty object where kinen refused the question; other failures are thrown. */
  private async orEmpty(answer: Promise<Record<string, unknown>>): Promise<Record<string, unknown>> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof Failure && error.reason === "refused") {
        return {};
      }
      throw error;
    }
  }
}
