/** The product cannot start; the message is for the person who started it and says what to do. */
export class StartProblem extends Error {}

/** What to say of an error that is not ours. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);
