/** The error of a promise, or "nothing". */
export const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "nothing",
    (error: unknown) => error,
  );
