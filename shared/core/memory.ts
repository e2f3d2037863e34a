const maxEntries = 10_000;

/** Adds an entry to a map, and returns the value. If the map has 10,000 entries, the oldest entry is deleted. */
export function remember<T>(map: Map<string, T>, key: string, value: T): T {
  if (map.size >= maxEntries && !map.has(key)) map.delete(map.keys().next().value ?? "");
  map.set(key, value);
  return value;
}
