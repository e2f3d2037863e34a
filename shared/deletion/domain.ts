import * as z from "zod";

import { change } from "../changes/kind.ts";
import { notFound, Problem } from "../core/errors.ts";
import { ordinalOf } from "../core/ids.ts";
import { later } from "../core/time.ts";
import { planUnassigned } from "../dedicated-ips/removal.ts";
import {
  type StoredDomain,
  domainKey,
  domainKind,
  domainQueue,
  domainsIn,
  domainsOf,
  holderKey,
  domainNameKey,
  isRegistered,
  isRenewing,
  notReady,
} from "../domains/domain.ts";
import { domainById } from "../domains/find.ts";
import { readHolder } from "../domains/holder.ts";
import { releasedWrite } from "../domains/purchase/conclude.ts";
import { dkimKey } from "../domains/records/dkim-keys.ts";
import { planRecords } from "../domains/records/plan.ts";
import { recordsIn } from "../domains/records/stored-record.ts";
import { maySeeMailboxes } from "../domains/setup/detail.ts";
import { noLookalike } from "../domains/setup/lookalikes.ts";
import { keptUntil } from "../domains/setup/takeover.ts";
import { domainUpdate, type Mover } from "../domains/setup/work.ts";
import { domainViews } from "../domains/view.ts";
import { getZone, zoneDueKey, zoneKey, type StoredZone } from "../domains/zone.ts";
import type { Context } from "../http/route.ts";
import { dropMailbox } from "../mail/mailboxes/delete.ts";
import { firstMailboxes } from "../mail/mailboxes/lookup.ts";
import { type Dns, ZoneExists } from "../providers/dns/dns.ts";
import type { Registrar } from "../providers/registrar/registrar.ts";
import { dueKey } from "../table/due.ts";
import { readList, removeRows } from "../table/ranked-list.ts";
import type { Write } from "../table/writes.ts";
import { domainCountWrite } from "../workspaces/workspace.ts";
import { planScopePurge } from "./scope.ts";

/** The time after which the worker continues a deletion that a request began, in milliseconds. */
const graceMs = 120_000;

/**
 * Begins the release of a domain. From then on nothing can be added to it; `finishRelease` does the rest. Throws 404, 409
 * `domain_not_empty`, and 409 `domain_not_ready` while the domain is being bought or renewed.
 */
export function beginRelease(found: StoredDomain, context: Context): Promise<void> {
  const { table, commit, now } = context;
  return commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (!domain) throw notFound();
    requireEmpty(domain, context);
    const [before] = (await domainViews(table, domain.account_id, [domain])) as [object];
    if (domain.status === "releasing" && keptUntil(domain) === undefined) {
      return { value: undefined, writes: [], changes: [], current: before };
    }
    const at = now();
    const { after, writes } = domainUpdate(domain, {
      status: "releasing",
      status_reason: null,
      deletes_at: null,
      is_open: false,
      updated_at: at.toISOString(),
      due_at: later(at, graceMs),
      failures: 0,
    });
    const [shown] = (await domainViews(table, domain.account_id, [after])) as [object];
    return {
      value: undefined,
      writes,
      changes: [change(domainKind, "updated", domain.id, { before, after: shown })],
    };
  });
}

function requireEmpty(domain: StoredDomain, { permissions }: Context): void {
  const { name, status, mailbox_count } = domain;
  if (mailbox_count > 0) {
    const extras = maySeeMailboxes(domain, permissions) ? { mailbox_count } : {};
    throw new Problem("domain_not_empty", "The domain still has mailboxes. Delete them first.", extras);
  }
  if (status === "pending_registration") {
    throw notReady(status, `${name} is being registered. Wait until the registration is complete.`);
  }
  if (isRenewing(domain)) {
    throw notReady(status, `${name} is being renewed. Wait until the renewal is complete.`);
  }
}

/** The records deleted in one transaction: with their entries in the audit log, each takes three or four writes. */
const recordsAtOnce = 20;

/**
 * Deletes a domain that is `releasing`, with everything that belongs to it. Steps that were done before are skipped.
 * Throws 503 when an outside service does not answer; the work then stays due. The order is:
 * - its zone and its registration,
 * - its mailboxes and records,
 * - the grants, master passwords and forwarding rules on it,
 * - its name, with the domain itself.
 */
export async function finishRelease(
  accountId: string,
  id: string,
  mover: Mover,
  { dns, registrar }: { dns: Dns; registrar: Registrar },
): Promise<void> {
  const domain = await domainById(mover.table, accountId, id);
  if (domain?.status !== "releasing") return;
  await removeZone(domain, mover, dns);
  // The registration is released only if the domain still holds its name. After a failed or ended registration, or a
  // takeover, another account may have the name.
  const holder = isRegistered(domain) ? await readHolder(mover.table, domain.name) : undefined;
  if (holder?.domain_id === id) await registrar.release(domain.name);
  while (await removeFirstMailbox(accountId, id, mover)) continue;
  while (await removeRecords(accountId, id, mover)) continue;
  while (await revokeAccess(accountId, id, mover)) continue;
  await forget(accountId, id, mover);
}

/** Deletes one mailbox. Only a domain that lost its name can still have mailboxes at this point. */
async function removeFirstMailbox(accountId: string, id: string, mover: Mover): Promise<boolean> {
  const [mailbox] = await firstMailboxes(mover.table, accountId, id, 1);
  return mailbox !== undefined && (await dropMailbox(accountId, mailbox, mover)) !== "missing";
}

function removeRecords(accountId: string, id: string, { table, commit, now }: Mover): Promise<boolean> {
  return commit(async () => {
    const [records, zone] = await Promise.all([recordsIn(table, accountId, id), getZone(table, accountId, id)]);
    const removed = records.slice(0, recordsAtOnce);
    if (removed.length === 0 || !zone) return { value: false, writes: [], changes: [] };
    const { sole, changes } = await planRecords(table, accountId, [{ zone, removed }], now());
    const count = { record_count: -removed.length, version: 1 };
    return {
      value: removed.length < records.length,
      writes: [{ update: domainKey(accountId, id), add: count, if: { id } }],
      sole,
      changes,
      partial: true,
    };
  });
}

function revokeAccess(accountId: string, id: string, { table, commit, now }: Mover): Promise<boolean> {
  return commit(async () => {
    const { isAll, ...purge } = await planScopePurge(table, accountId, { type: "domain", id }, now());
    return { value: !isAll, ...purge, partial: true };
  });
}

const NameHolder = z.object({ domain_id: z.string() });

/** Deletes the domain itself, once all its contents are deleted. */
function forget(accountId: string, id: string, { table, commit, now }: Mover): Promise<void> {
  return commit(async () => {
    const domain = await domainById(table, accountId, id);
    if (!domain) return { value: undefined, writes: [], changes: [] };
    const [before] = (await domainViews(table, accountId, [domain])) as [object];
    const [writes, ip, zone, holder, name] = await Promise.all([
      removal(domain, { table }),
      planUnassigned(table, domain, now()),
      getZone(table, accountId, id),
      table.get(holderKey(domain.name), NameHolder),
      table.get(domainNameKey(accountId, domain.name), NameHolder),
    ]);
    // A name that was taken over belongs to another account, and a failed name may have been bought again: only the
    // domain's own rows are deleted.
    const own = { if: { domain_id: id } };
    return {
      value: undefined,
      writes: [
        ...writes,
        ...ip.writes,
        ...(holder?.domain_id === id ? [{ delete: holderKey(domain.name), ...own }] : []),
        ...(name?.domain_id === id ? [{ delete: domainNameKey(accountId, domain.name), ...own }] : []),
        ...(isRegistered(domain) && holder?.domain_id === id ? [releasedWrite(domain.name, now())] : []),
        { delete: zoneKey(accountId, id) },
        { delete: dkimKey(accountId, id) },
        ...(zone?.due_at ? [{ delete: zoneDueKey(zone, zone.due_at) }] : []),
      ],
      changes: [change(domainKind, "deleted", id, { before }), ...ip.changes],
      // `If-Match` was compared when the release began.
      matched: true,
    };
  });
}

async function removal(domain: StoredDomain, { table }: Pick<Mover, "table">): Promise<Write[]> {
  const { account_id, id, workspace_id, workspace_ordinal, name, version, due_at } = domain;
  const ordinal = ordinalOf(id) ?? -1;
  const [all, inWorkspace] = await Promise.all([
    readList(table, domainsOf(account_id), [ordinal]),
    readList(table, domainsIn(account_id, workspace_id), [workspace_ordinal]),
  ]);
  return [
    ...removeRows(all.state, [ordinal], { if: { id, version } }),
    ...removeRows(inWorkspace.state, [workspace_ordinal]),
    domainCountWrite(account_id, workspace_id, -1),
    noLookalike(account_id, name),
    ...(due_at === null ? [] : [{ delete: dueKey(domainQueue, [account_id, id], due_at) }]),
  ];
}

/** Deletes a domain that could not be registered, so that its name can be tried again. */
export async function removeFailed(
  accountId: string,
  { id }: StoredDomain,
  { table, commit, now }: Mover,
): Promise<void> {
  const mover: Mover = { table, now, commit: (plan) => commit(async () => ({ ...(await plan()), partial: true })) };
  while (await removeRecords(accountId, id, mover)) continue;
  while (await revokeAccess(accountId, id, mover)) continue;
  const domain = await domainById(table, accountId, id);
  if (domain?.status === "failed") await forget(accountId, id, mover);
}

/**
 * Removes a domain's zone from the nameservers permanently, even a zone whose creation could not be stored. Throws 503
 * when the provider does not answer, and while another process syncs the zone.
 */
export async function removeZone(domain: StoredDomain, mover: Mover, dns: Dns): Promise<void> {
  const { account_id, id, name, nameservers, verified_at } = domain;
  const unserved = await stopServing(domain, mover);
  const zone = unserved ?? (await getZone(mover.table, account_id, id));
  if (zone?.zone_id !== undefined) return dns.deleteZone(zone.zone_id);
  if (!zone || verified_at === null) return;
  try {
    const { zoneId } = await dns.createZone({ name, reference: zone.reference ?? id, nameservers });
    await dns.deleteZone(zoneId);
  } catch (error) {
    // The name belongs to another account, and so does its zone.
    if (!(error instanceof ZoneExists)) throw error;
  }
}

/**
 * Marks the zone as not wanted, so that no sync creates it again or writes to it. Returns the zone if it was not wanted
 * before.
 */
async function stopServing(
  { account_id, id }: StoredDomain,
  { table, commit, now }: Mover,
): Promise<StoredZone | undefined> {
  let unserved: StoredZone | undefined;
  const isBusy = await commit(async () => {
    const zone = await getZone(table, account_id, id);
    const value = zone !== undefined && zone.lease_until > now().toISOString();
    unserved = zone?.wanted === true ? undefined : zone;
    if (!zone?.wanted) return { value, writes: [], changes: [] };
    const { revision, lease_until } = zone;
    return {
      value,
      writes: [{ update: zoneKey(account_id, id), set: { wanted: false }, if: { revision, lease_until } }],
      changes: [],
      housekeeping: true,
      partial: true,
    };
  });
  if (isBusy) throw new Problem("busy", "The domain's zone is being updated. Try again.", { retry_after: 1 });
  return unserved;
}
