/** The error with which a promise rejects, or "nothing" if it does not reject. */
export const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "nothing",
    (error: unknown) => error,
  );
