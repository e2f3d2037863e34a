import { covers, idsHeld } from "../../auth/permissions.ts";
import { spanOf, type PageQuery } from "../../core/page.ts";
import { domainsByIds } from "../../domains/find.ts";
import type { Context, Expected } from "../../http/route.ts";
import { readRows, aheadOfRows } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { mailboxesByIds } from "../mailboxes/lookup.ts";
import { domainIdOf, type Family, type Scoped, scopesOfScoped } from "./family.ts";

/** The items that `listScoped` reads first. */
export function aheadOfListed<T extends Scoped>(
  family: Family<T>,
  accountId: string,
  page: PageQuery,
  { permissions }: Expected,
  isFiltered = false,
): Ahead {
  const isPage = covers(permissions, family.view, []) && !isFiltered;
  return aheadOfRows(family.list(accountId), isPage ? spanOf(page) : { skip: 0, take: family.perAccount });
}

/** A page of the entries that the principal sees and that `keep` accepts, oldest first. */
export async function listScoped<T extends Scoped>(
  family: Family<T>,
  accountId: string,
  page: PageQuery,
  { table, permissions }: Pick<Context, "table" | "permissions">,
  keep?: (thing: T) => boolean,
): Promise<{ items: T[]; total: number }> {
  const { skip, take } = spanOf(page);
  const list = family.list(accountId);
  const seesAll = covers(permissions, family.view, []);
  if (seesAll && !keep) {
    const { rows, total } = await readRows(table, list, { skip, take });
    return { items: rows.map(family.parse), total };
  }
  const { rows } = await readRows(table, list, { skip: 0, take: family.perAccount });
  const wanted = rows.map(family.parse).filter((thing) => keep?.(thing) ?? true);
  const domainIds = wanted.flatMap((thing) => domainIdOf(thing) ?? []);
  const domains = seesAll ? [] : await domainsByIds(table, accountId, [...new Set(domainIds)]);
  const workspaceIds = new Map(domains.map(({ id, workspace_id }) => [id, workspace_id]));
  const gone = seesAll ? new Set<string>() : await goneMailboxes(family, accountId, wanted, { table, permissions });
  const visible = wanted.filter((thing) => {
    const place = { workspaceId: workspaceIds.get(domainIdOf(thing) ?? ""), isGone: gone.has(thing.scope_id) };
    return covers(permissions, family.view, scopesOfScoped(family.type, thing, place));
  });
  return { items: visible.slice(skip, skip + take), total: visible.length };
}

/** The ids of the deleted mailboxes that are the scopes of entries and on which the principal has a grant. */
async function goneMailboxes<T extends Scoped>(
  { view }: Family<T>,
  accountId: string,
  things: readonly T[],
  { table, permissions }: Pick<Context, "table" | "permissions">,
): Promise<Set<string>> {
  const scopeIds = new Set(things.flatMap((one) => (one.scope_type === "mailbox" ? [one.scope_id] : [])));
  const held = idsHeld(permissions, view, "mailbox");
  const granted = held === "all" ? [] : held.filter((id) => scopeIds.has(id)).toSorted();
  const live = new Set((await mailboxesByIds(table, accountId, granted)).map(({ id }) => id));
  return new Set(granted.filter((id) => !live.has(id)));
}
