/** Cuts a list into consecutive groups of at most `size`. */
export const inGroupsOf = <T>(size: number, items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
