/** Runs all pieces of work, one after the other. After the last piece, rejects with the first failure. */
export async function tryAll(pieces: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const runPiece of pieces) {
    try {
      await runPiece();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
