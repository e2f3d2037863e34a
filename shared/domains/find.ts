import * as z from "zod";

import type { Scope } from "../auth/permissions.ts";
import { Id, ordinalOf } from "../core/ids.ts";
import type { LocatedResource, ResourceLookup, Expected } from "../http/route.ts";
import { readNear } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Seen } from "../table/seen-items.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";
import { StoredDomain, domainKey, domainNameKey, domainsOf, noSuchDomain } from "./domain.ts";
import { DomainName } from "./name.ts";

export const DomainParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  domain: DomainName,
});

const DomainPointer = z.object({ domain_id: z.string() });

/** The domain with this id; undefined if the account has none. */
export async function domainById(table: Reader, accountId: string, id: string): Promise<StoredDomain | undefined> {
  const domain = await table.get(domainKey(accountId, id), StoredDomain);
  return domain?.id === id ? domain : undefined;
}

/**
 * The domain with this name; undefined if the account has none. Costs one and a half read units if the account has the
 * domain.
 */
export async function domainByName(table: Reader, accountId: string, name: string): Promise<StoredDomain | undefined> {
  const glimpsed = await table.glimpse(domainNameKey(accountId, name), DomainPointer);
  const domain = glimpsed && (await domainById(table, accountId, glimpsed.domain_id));
  // The glimpsed item may be out of date.
  if (domain?.name === name) return domain;
  return domainOfNewName(table, accountId, name);
}

/**
 * The domain with this name, for callers who expect that the name is new to the account. Costs one read unit if the
 * name is new.
 */
export async function domainOfNewName(
  table: Reader,
  accountId: string,
  name: string,
): Promise<StoredDomain | undefined> {
  const pointer = await table.get(domainNameKey(accountId, name), DomainPointer);
  return pointer && domainById(table, accountId, pointer.domain_id);
}

/** The domain with this name or id. */
export const domainByRef = (table: Reader, accountId: string, ref: string): Promise<StoredDomain | undefined> =>
  ref.includes(".") ? domainByName(table, accountId, ref) : domainById(table, accountId, ref);

/** The id of the domain with this name or id; undefined for a name that this process has not seen. */
export const expectedDomainId = (seen: Seen, accountId: string, ref: string): string | undefined =>
  ref.includes(".") ? DomainPointer.safeParse(seen.recall(domainNameKey(accountId, ref))).data?.domain_id : ref;

/**
 * The key of the item that leads from a domain's name to its id, for a route whose query names the domain. There is no
 * key if `ref` is an id, or a name that this process has seen.
 */
export const aheadOfName = ({ seen }: Pick<Expected, "seen">, accountId: string, ref: string): Key[] =>
  expectedDomainId(seen, accountId, ref) === undefined ? [domainNameKey(accountId, ref)] : [];

/**
 * The row of the domain, listed twice: `domainByRef` reads the row, and the plan of the transaction reads it again. If
 * the id is not known yet, the row cannot be listed. Then `again` keeps the row after `domainByRef` has read it, and
 * the plan gets this row.
 */
export function aheadOfDomain({ seen }: Expected, accountId: string, ref: string): Ahead & { keys: Key[] } {
  const id = expectedDomainId(seen, accountId, ref);
  return { keys: id === undefined ? [] : [domainKey(accountId, id), domainKey(accountId, id)], again: true };
}

/**
 * The item that `domainByRef` reads. This is for a route that calls another service before its plan runs. The plan then
 * reads the domain again from the table, because the domain may have changed meanwhile.
 */
export const aheadOfDomainOnce = (expected: Expected, accountId: string, ref: string): Ahead => ({
  keys: aheadOfDomain(expected, accountId, ref).keys.slice(0, 1),
});

/** The last state of a domain that this process has seen; undefined if the process has not seen the domain. */
export const seenDomain = (
  { seen }: Pick<Expected, "seen">,
  accountId: string,
  id: string | undefined,
): StoredDomain | undefined =>
  id === undefined ? undefined : StoredDomain.safeParse(seen.recall(domainKey(accountId, id))).data;

/** The scopes of a domain: the domain itself and its workspace. Grants can be narrowed to either of these scopes. */
export const scopesOfDomain = ({ id, workspace_id }: Pick<StoredDomain, "id" | "workspace_id">): Scope[] => [
  { type: "domain", id },
  { type: "workspace", id: workspace_id },
];

function locatedDomain(table: Reader, domain: StoredDomain): LocatedResource<StoredDomain> {
  table.seen?.note({ ...domainKey(domain.account_id, domain.id), ...domain });
  return { id: domain.id, scopes: scopesOfDomain(domain), thing: domain, label: domain.name };
}

const within = ["domain", "workspace"] as const;

/** The domain in the path of a route. */
export const domainInPath: ResourceLookup<{ params: z.output<typeof DomainParams> }, StoredDomain> = {
  at: "path",
  within,
  find: async ({ params }, table) => {
    const domain = await domainByName(table, params.account_id, params.domain);
    return domain && locatedDomain(table, domain);
  },
};

/** The domain that the body of a route names. */
export const domainInBody: ResourceLookup<{ params: { account_id: string }; body: { domain: string } }, StoredDomain> =
  {
    at: ["body", "domain"],
    within,
    missing: noSuchDomain,
    find: async ({ params, body }, table) => {
      const domain = await domainByRef(table, params.account_id, body.domain);
      return domain && locatedDomain(table, domain);
    },
  };

/** The domain that the query of a route names. */
export const domainInQuery: ResourceLookup<
  { params: { account_id: string }; query: { domain: string } },
  StoredDomain
> = {
  at: ["query", "domain"],
  within,
  missing: noSuchDomain,
  find: async ({ params, query }, table) => {
    const domain = await domainByRef(table, params.account_id, query.domain);
    return domain && locatedDomain(table, domain);
  },
};

/** The domains with these ids that exist, in the order of the ids. */
export async function domainsByIds(table: Reader, accountId: string, ids: readonly string[]): Promise<StoredDomain[]> {
  const rows = await readNear(
    table,
    domainsOf(accountId),
    ids.flatMap((id) => ordinalOf(id) ?? []),
  );
  const byId = new Map(rows.map((row) => [row["id"], row]));
  return ids.flatMap((id) => {
    const row = byId.get(id);
    return row ? [StoredDomain.parse(row)] : [];
  });
}
