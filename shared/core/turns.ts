/** The first of every key, then the second of each, and so on; each key's own in their order. */
export function inTurns<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const places = new Map<string, number>();
  const placed = items.map((item) => {
    const key = keyOf(item);
    const place = places.get(key) ?? 0;
    places.set(key, place + 1);
    return { item, place };
  });
  return placed.toSorted((a, b) => a.place - b.place).map(({ item }) => item);
}
