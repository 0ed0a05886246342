/** Why kinen gave no answer, in words for the user. */

export type Reason = "missing" | "slow" | "cancelled" | "refused" | "damaged";

export class Failure extends Error {
  constructor(
    readonly reason: Reason,
    message: string,
  ) {
    super(message);
  }
}

export const INSTALL = "pipx install 'kinen[all]'";

export function missing(): Failure {
  return new Failure(
    "missing",
    `kinen is not installed, or not on the PATH: run ${INSTALL}, or set kinen.path in your settings.`,
  );
}

/** The line that kinen printed as an error, without its prefix. */
export function refused(stderr: string): Failure {
  const lines = stderr.split("\n").filter((line) => line.startsWith("kinen:"));
  const line = lines[lines.length - 1] ?? stderr.trim().split("\n").pop() ?? "";
  return new Failure("refused", line.replace(/^kinen:\s*/, "") || "kinen failed without a message");
}
