const maxEntries = 10_000;

/** Adds an entry to a map. The oldest entry is deleted if the map is full, so that it does not grow for ever. */
export function remember<T>(map: Map<string, T>, key: string, value: T): T {
  if (map.size >= maxEntries && !map.has(key)) map.delete(map.keys().next().value ?? "");
  map.set(key, value);
  return value;
}
