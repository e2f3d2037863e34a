/**
 * The candidate closest to `word`, ignoring case: at most two characters inserted, dropped, changed or swapped, and at most
 * one in every three. Undefined when none is that close.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let [best, least]: [string | undefined, number] = [undefined, Math.min(2, Math.floor(word.length / 3)) + 1];
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** Levenshtein's distance with neighbours that changed places as one change, one row of the table at a time. */
function editDistance(from: string, to: string): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: to.length + 1 }, (_, index) => index)];
  for (let line = 0; line < from.length; line += 1) {
    const next = [line + 1];
    for (let column = 0; column < to.length; column += 1) {
      const changed = (row[column] ?? 0) + (from[line] === to[column] ? 0 : 1);
      const isSwap = line > 0 && from[line] === to[column - 1] && from[line - 1] === to[column];
      const swapped = isSwap ? (before[column - 1] ?? 0) + 1 : changed;
      next.push(Math.min(changed, swapped, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[to.length] ?? 0;
}
