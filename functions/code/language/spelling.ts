/** The longest name, in characters, that is compared: the time grows with the lengths of both names. */
const comparedChars = 64;
/** The most candidates that are compared. The API has fewer functions. */
const comparedNames = 500;

/**
 * Finds the candidate closest to `word`, ignoring case.
 * - Allows one difference for every three characters of `word`, and two at most. A difference is an inserted, dropped
 *   or changed character, or two swapped neighbours.
 * - Undefined if no candidate is that close, or if `word` is longer than 64 characters.
 * - Compares the first 500 candidates.
 */
export function closestName(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > comparedChars) return undefined;
  const sought = word.toLowerCase();
  let [best, least]: [string | undefined, number] = [undefined, Math.min(2, Math.floor(word.length / 3)) + 1];
  let left = comparedNames;
  for (const candidate of candidates) {
    if (least === 0 || left === 0) break;
    left -= 1;
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const distance = editDistance(sought, candidate.toLowerCase(), least);
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/**
 * Levenshtein's distance, with a swap of neighbours as one change. Returns `limit` for a distance of `limit` or more.
 * Keeps three rows of the table, and skips cells that are further from the diagonal than `limit`.
 */
function editDistance(from: string, to: string, limit: number): number {
  const far = limit + 1;
  let [before, row, next] = [0, 1, 2].map(() => new Uint8Array(to.length + 1).fill(far)) as [Row, Row, Row];
  for (let column = 0; column <= Math.min(to.length, limit); column += 1) row[column] = column;
  for (let line = 0; line < from.length; line += 1) {
    const [first, last] = [Math.max(0, line - limit), Math.min(to.length, line + limit + 1)];
    next[first] = first === 0 ? Math.min(far, line + 1) : far;
    for (let column = first; column < last; column += 1) {
      const changed = (row[column] ?? far) + (from[line] === to[column] ? 0 : 1);
      const isSwap = line > 0 && column > 0 && from[line] === to[column - 1] && from[line - 1] === to[column];
      const swapped = isSwap ? (before[column - 1] ?? far) + 1 : changed;
      next[column + 1] = Math.min(far, changed, swapped, (row[column + 1] ?? far) + 1, (next[column] ?? far) + 1);
    }
    [before, row, next] = [row, next, before];
  }
  return Math.min(row[to.length] ?? far, limit);
}
type Row = Uint8Array;
