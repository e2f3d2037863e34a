import type { Capability } from "../../auth/capabilities.ts";
import { ordinalOf } from "../../core/ids.ts";
import { domainById } from "../../domains/find.ts";
import type { Located, Subject } from "../../http/route.ts";
import { rowKey, type List } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Item, Key } from "../../table/writes.ts";
import { scopesOfScoped, type MailScope } from "./scope.ts";

export type Scoped = { id: string; scope_type: MailScope["type"]; scope_id: string };

/**
 * Things of an account that each apply to a scope: they stand in a list, and beside it by their scope, where they are
 * looked up when mail comes or goes.
 */
export type Family<T extends Scoped> = {
  type: "credential" | "forwarding";
  /** Several of them, for people. */
  noun: string;
  view: Capability;
  list: (accountId: string) => List;
  /** What the sort keys by scope begin with. */
  prefix: string;
  parse: (row: Item) => T;
  /** How many one scope can have: all of them are looked at when mail comes or goes. */
  perScope: number;
  perAccount: number;
};

/** Where the one with this id would be; an id of another kind leads to an ordinal that is never given. */
export const scopedKey = <T extends Scoped>({ list }: Family<T>, accountId: string, id: string): Key =>
  rowKey(list(accountId), ordinalOf(id) ?? 2 ** 40);

/** The one with this id; undefined when the account has none. */
export async function scopedById<T extends Scoped>(
  family: Family<T>,
  table: Reader,
  accountId: string,
  id: string,
): Promise<T | undefined> {
  const [row] = await table.getMany([scopedKey(family, accountId, id)]);
  const thing = row && family.parse(row);
  return thing?.id === id ? thing : undefined;
}

/** The one with this id with what it is inside of; undefined when the account has none. */
export async function locateScoped<T extends Scoped>(
  family: Family<T>,
  table: Reader,
  accountId: string,
  id: string,
): Promise<Located<T> | undefined> {
  const thing = await scopedById(family, table, accountId, id);
  if (!thing) return undefined;
  const domain = thing.scope_type === "domain" ? await domainById(table, accountId, thing.scope_id) : undefined;
  return { id, scopes: scopesOfScoped(family.type, thing, domain?.workspace_id), thing };
}

/** The one whose id is the named member of a route's path. */
export const scopedInPath = <T extends Scoped, N extends string>(
  family: Family<T>,
  name: N,
): Subject<{ params: { account_id: string } & Record<N, string> }, T> => ({
  at: "path",
  within: [family.type, "domain", "workspace"],
  find: ({ params }, table) => locateScoped(family, table, params.account_id, params[name]),
});
