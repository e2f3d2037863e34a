const maxEntries = 10_000;

/**
 * Sets the value of a key in a map, and returns the value. If the key is new and the map has 10,000 entries already,
 * the entry that was added first is deleted.
 */
export function remember<T>(map: Map<string, T>, key: string, value: T): T {
  if (map.size >= maxEntries && !map.has(key)) map.delete(map.keys().next().value ?? "");
  map.set(key, value);
  return value;
}
