import { change } from "../../changes/kind.ts";
import { notFound } from "../../core/errors.ts";
import type { Context, Expected } from "../../http/route.ts";
import { appendRows, readHeads, readList, removeRows, aheadOfList } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { domainCountWrite, workspaceKey } from "../../workspaces/workspace.ts";
import { type Domain, type StoredDomain, domainKind, domainsIn, notReady } from "../domain.ts";
import { domainById, aheadOfDomain, expectedDomainId, seenDomain } from "../find.ts";
import { domainViews } from "../view.ts";
import { domainUpdate } from "./work.ts";

/**
 * The items that a move of a domain reads. The domain's place in its present workspace is among them only if this
 * process has seen the domain.
 */
export function aheadOfDomainMove(
  { account_id, domain: name }: { account_id: string; domain: string },
  workspaceId: string,
  expected: Expected,
): Ahead {
  const { keys, ...ahead } = aheadOfDomain(expected, account_id, name);
  const domain = seenDomain(expected, account_id, expectedDomainId(expected.seen, account_id, name));
  const lists = [
    aheadOfList(domainsIn(account_id, workspaceId)),
    ...(domain ? [aheadOfList(domainsIn(account_id, domain.workspace_id), [domain.workspace_ordinal])] : []),
  ];
  return {
    ...ahead,
    keys: [...keys, workspaceKey(account_id, workspaceId), ...lists.flatMap((list) => list.keys ?? [])],
  };
}

/**
 * Moves a domain with all its contents to another workspace of its account. Writes nothing if the domain is there
 * already. Throws:
 * - 404 if the domain was deleted meanwhile;
 * - 409 `domain_not_ready` if the domain is not open (`is_open`), for example because it was deleted and is still kept;
 * - 422 if the workspace is gone.
 */
export function moveDomain(found: StoredDomain, workspaceId: string, { table, commit, now }: Context): Promise<Domain> {
  const { account_id, id } = found;
  return commit(async () => {
    const domain = await domainById(table, account_id, id);
    if (!domain) throw notFound();
    if (!domain.is_open) throw notReady(domain.status, `${domain.name} is ${domain.status}. It cannot be moved.`);
    const [before] = (await domainViews(table, account_id, [domain])) as [Domain];
    if (domain.workspace_id === workspaceId) return { value: before, writes: [], changes: [] };
    const moving = await planMove(table, domain, workspaceId);
    const { after, writes } = domainUpdate(domain, { ...moving.place, updated_at: now().toISOString() });
    const [moved] = (await domainViews(table, account_id, [after])) as [Domain];
    return {
      value: moved,
      writes: [...writes, ...moving.writes],
      changes: [change(domainKind, "moved", id, { before, after: moved })],
    };
  });
}

/**
 * Plans the move of a domain to another workspace. Returns the members that the domain gets (`place`), and the writes
 * for the lists and the counts of both workspaces. There are no writes if the domain is in the workspace already. The
 * caller writes the domain itself. When the writes are committed, the commit throws 422 if the workspace is gone.
 */
export async function planMove(
  table: Reader,
  { account_id, id, workspace_id, workspace_ordinal }: StoredDomain,
  workspaceId: string,
): Promise<{ place: Pick<StoredDomain, "workspace_id" | "workspace_ordinal">; writes: Write[] }> {
  if (workspace_id === workspaceId) return { place: { workspace_id, workspace_ordinal }, writes: [] };
  const [{ state: left }, [entered]] = await Promise.all([
    readList(table, domainsIn(account_id, workspace_id), [workspace_ordinal]),
    readHeads(table, [domainsIn(account_id, workspaceId)]),
  ]);
  if (!entered) throw new Error("the list of the workspace has no head");
  return {
    place: { workspace_id: workspaceId, workspace_ordinal: entered.next },
    writes: [
      ...removeRows(left, [workspace_ordinal]),
      ...appendRows(entered, [{ domain_id: id }]),
      domainCountWrite(account_id, workspace_id, -1),
      domainCountWrite(account_id, workspaceId, 1),
    ],
  };
}
