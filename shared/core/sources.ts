/** Rows one after the other, of which any part can be read. */
export type Source<T> = { total: number; read: (skip: number, take: number) => Promise<T[]> };

export const totalOf = (sources: readonly Pick<Source<unknown>, "total">[]): number =>
  sources.reduce((sum, { total }) => sum + total, 0);

/** A part of several sources as if they were one. */
export async function readAcross<T>(sources: readonly Source<T>[], skip: number, take: number): Promise<T[]> {
  const found: T[] = [];
  let before = 0;
  for (const { total, read } of sources) {
    const from = Math.max(0, skip + found.length - before);
    const left = Math.min(take - found.length, total - from);
    if (left > 0) found.push(...(await read(from, left)));
    before += total;
    if (found.length >= take) break;
  }
  return found;
}
