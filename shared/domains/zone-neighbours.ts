import { covers } from "../auth/permissions.ts";
import { Problem } from "../core/errors.ts";
import type { Context } from "../http/route.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { holderKey, type StoredDomain } from "./domain.ts";
import { domainById, scopesOfDomain } from "./find.ts";
import { readHolders, StoredHolder } from "./holder.ts";
import { parentNames } from "./name.ts";
import { StoredZone, zoneKey } from "./zone.ts";

/*
 * Nameservers of Route 53 hold no zone above or below another zone on the same nameservers. All zones here are on the
 * same nameservers: each account has its own names for them.
 *
 * Access patterns
 *   the subdomains of a name whose zones were wanted at some time   DOMAIN#<name> / SUBZONE#<subdomain>
 *
 * A row can remain after the nameservers have lost the subdomain's zone. Only the row of the zone (`StoredZone`) says
 * whether they have it.
 */
const subzones = "SUBZONE#";
const subzoneKey = (parent: string, name: string): Key => ({ PK: `DOMAIN#${parent}`, SK: `${subzones}${name}` });
const Subzone = StoredHolder.pick({ account_id: true, domain_id: true });

/** The largest number of subdomains of a name that are checked for a zone. */
const mostSubdomains = 100;

/** A domain whose zone is noted under the names above the domain's name. */
type Noted = Pick<StoredDomain, "account_id" | "id" | "name">;

/**
 * The largest number of names above a domain under which its zone is noted. Each note is a write. A transaction can
 * have 100 writes, and the notes share it with other writes.
 */
const mostParents = 20;

/**
 * The names under which the zone of a name is noted: the names above it, and only the 20 shortest if there are more.
 */
const notedUnder = (name: string): string[] => parentNames(name).slice(-mostParents);

/** The writes that note the zone of a domain under the names above it. */
export const subzoneWrites = ({ account_id, id, name }: Noted): Write[] =>
  notedUnder(name).map((parent) => ({ put: { ...subzoneKey(parent, name), account_id, domain_id: id } }));

/**
 * The writes that delete the rows that `subzoneWrites` made for this domain. Rows that another domain has replaced
 * stay.
 */
export async function subzoneRemovals(table: Reader, { id, name }: Pick<Noted, "id" | "name">): Promise<Write[]> {
  const keys = notedUnder(name).map((parent) => subzoneKey(parent, name));
  const rows = await table.getMany(keys);
  return keys.flatMap((key, index): Write[] => {
    const row = rows[index];
    return row && Subzone.parse(row).domain_id === id ? [{ delete: key, if: { domain_id: id } }] : [];
  });
}

const subzonesOf = (name: string) => ({
  partition: `DOMAIN#${name}`,
  from: subzones,
  to: `${subzones}~`,
  limit: mostSubdomains,
});

/** The items and the range that `requireZonePossible` reads first. */
export const aheadOfZone = (name: string): { keys: Key[]; ranges: NonNullable<Ahead["ranges"]> } => ({
  keys: parentNames(name).map(holderKey),
  ranges: [subzonesOf(name)],
});

/**
 * A domain above or below this name that has a zone on the nameservers, or should have one; undefined if there is none.
 */
async function neighbourOf(table: Reader, name: string): Promise<Noted | undefined> {
  const { partition, from, to, limit } = subzonesOf(name);
  const [above, below] = await Promise.all([
    readHolders(table, parentNames(name)),
    table.between(partition, from, to, { limit }),
  ]);
  const near = [...above, ...below.map((row) => Subzone.parse(row))].filter((one) => one !== undefined);
  const rows = await table.getMany(near.map(({ account_id, domain_id }) => zoneKey(account_id, domain_id)));
  const zones = rows.map((row) => (row ? StoredZone.parse(row) : undefined));
  const index = zones.findIndex((zone) => zone?.wanted === true || zone?.zone_id !== undefined);
  const [zone, owner] = [zones[index], near[index]];
  return zone && owner && { account_id: owner.account_id, id: owner.domain_id, name: zone.name };
}

/**
 * The reason why the nameservers cannot hold a zone of `name`, as a text for people. `other` is the name above or below
 * it that has a zone, if the reader may know this name.
 */
const inTheWay = (name: string, other = "a name above or below it"): string =>
  `Our nameservers hold the DNS of ${other}. They cannot hold a zone of ${name} as well, because one of these names is below the other. Use dns_mode external for the longer name, and publish its records in the DNS of the shorter name.`;

/**
 * Returns a text for people that says why the nameservers cannot hold a zone of this name: they hold a zone above or
 * below the name. Undefined if the nameservers can hold the zone.
 */
export async function zoneObstacle(table: Reader, name: string): Promise<string | undefined> {
  const other = await neighbourOf(table, name);
  return other && inTheWay(name, other.name);
}

/**
 * Throws 409 `zone_conflict` if the nameservers hold a zone above or below this name. The error has the other name only
 * if the caller may see its domain.
 */
export async function requireZonePossible(
  name: string,
  accountId: string,
  { table, permissions }: Pick<Context, "table" | "permissions">,
): Promise<void> {
  const other = await neighbourOf(table, name);
  if (!other) return;
  const domain = other.account_id === accountId ? await domainById(table, accountId, other.id) : undefined;
  const isSeen = domain !== undefined && covers(permissions, "domain.view", scopesOfDomain(domain));
  const shown = isSeen ? { conflicts_with: other.name } : {};
  throw new Problem("zone_conflict", inTheWay(name, shown.conflicts_with), shown);
}
