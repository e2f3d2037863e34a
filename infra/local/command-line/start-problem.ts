/** The product cannot start; the message is for the person who started it and says what to do. */
export class StartProblem extends Error {}

/** What to say of an error that is not ours. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);

/** What the file system says, in words that help. */
const advice: Record<string, string> = {
  ENOSPC: "The disk is full: make room",
  EDQUOT: "Your share of the disk is full: make room",
  EROFS: "The file system is read-only: set DATA_DIR to a folder elsewhere",
  EACCES: "You may not write there: set DATA_DIR to a folder of yours",
  EPERM: "You may not write there: set DATA_DIR to a folder of yours",
};

/** The problem that an error is for the person who started the product; undefined where it is a fault of ours. */
export function startProblemOf(error: unknown): StartProblem | undefined {
  if (error instanceof StartProblem) return error;
  if (!(error instanceof Error) || !("code" in error) || !("path" in error)) return undefined;
  const told = advice[String(error.code)];
  return told === undefined ? undefined : new StartProblem(`${told}. ${error.message}`);
}
