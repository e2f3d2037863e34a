/** Full jitter: waits up to 5 ms, doubling to 320 ms, so that a burst of callers spreads out. */
export async function backOff(attempt: number): Promise<void> {
  const longestMs = 5 * 2 ** Math.min(attempt, 6);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * longestMs));
}
