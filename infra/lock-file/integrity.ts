/** An entry of `packages` in package-lock.json, as far as it matters here. */
type LockEntry = { version?: string; integrity?: string; link?: boolean; inBundle?: boolean };

export type LockFile = { packages: Record<string, LockEntry> };

/** The name of the package at a place in the tree, such as `node_modules/a/node_modules/@b/c`. */
const nameAt = (place: string): string => place.split("node_modules/").at(-1) ?? place;

/** The places of packages that npm installs from the registry without knowing their hash. */
export const withoutIntegrity = ({ packages }: LockFile): string[] =>
  Object.entries(packages)
    .filter(([place, { integrity, link, inBundle }]) => {
      const isFromRegistry = place.includes("node_modules/") && link !== true && inBundle !== true;
      return isFromRegistry && integrity === undefined;
    })
    .map(([place]) => place);

/**
 * Adds missing hashes to the lock file, and returns the names of the packages without a hash in the registry. Versions
 * and existing hashes do not change. `lookUp` answers undefined for an unknown package.
 */
export async function addIntegrity<L extends LockFile>(
  lock: L,
  lookUp: (name: string, version: string) => Promise<string | undefined>,
): Promise<{ lock: L; unknown: string[] }> {
  const packages = { ...lock.packages };
  const unknown: string[] = [];
  for (const place of withoutIntegrity(lock)) {
    const { version = "", ...rest } = packages[place] ?? {};
    const integrity = await lookUp(nameAt(place), version);
    if (integrity === undefined) unknown.push(`${nameAt(place)}@${version}`);
    else packages[place] = { version, integrity, ...rest };
  }
  return { lock: { ...lock, packages }, unknown };
}
