import * as z from "zod";

import { change } from "../changes/kind.ts";
import type { ChangePlan, Writer } from "../changes/recorder.ts";
import { notFound, Problem } from "../core/errors.ts";
import { ordinalOf } from "../core/ids.ts";
import { later } from "../core/time.ts";
import { planLeaving, planUnassigned } from "../dedicated-ips/removal.ts";
import {
  type StoredDomain,
  domainKey,
  domainKind,
  domainQueue,
  domainsIn,
  domainsOf,
  holderKey,
  domainNameKey,
  hasRegistration,
  isRegistered,
  isRenewing,
  isTransferring,
  notReady,
  wasVerified,
} from "../domains/domain.ts";
import { domainById } from "../domains/find.ts";
import { readHolder } from "../domains/holder.ts";
import { releasedWrite } from "../domains/purchase/release-pause.ts";
import { dkimKey } from "../domains/records/dkim-keys.ts";
import { planRecords } from "../domains/records/plan.ts";
import { recordsIn } from "../domains/records/stored-record.ts";
import { maySeeMailboxes } from "../domains/setup/detail.ts";
import { lookalikeRemoval } from "../domains/setup/lookalikes.ts";
import { keptUntil, planReleasing } from "../domains/setup/releasing.ts";
import { domainUpdate } from "../domains/setup/work.ts";
import { domainChange, domainViews } from "../domains/view.ts";
import { subzoneRemovals } from "../domains/zone-neighbours.ts";
import { getZone, zoneDueKey, zoneKey } from "../domains/zone.ts";
import type { Context } from "../http/route.ts";
import { dropMailbox } from "../mail/mailboxes/delete.ts";
import { deletedIn } from "../mail/mailboxes/deleted.ts";
import { firstMailboxes } from "../mail/mailboxes/lookup.ts";
import { purgeMailbox } from "../mail/mailboxes/purge.ts";
import type { Dns } from "../providers/dns/dns.ts";
import type { Registrar } from "../providers/registrar/registrar.ts";
import { dueKey } from "../table/due.ts";
import { readList, removeRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { domainCountWrite } from "../workspaces/workspace.ts";
import { planScopePurge } from "./scope.ts";
import { removeZone, zoneRemovalWrites } from "./zone.ts";

/** The time after which the worker continues a deletion that a request began, in milliseconds. */
const graceMs = 120_000;

/**
 * How a domain is deleted:
 * - `release`: the caller agrees to give up a registered name.
 * - `purge`: the domain is deleted at once, and cannot be restored.
 */
export type DeletionWish = { release: boolean; purge: boolean };

/**
 * Begins the deletion of a domain, and returns the domain's new state. After this nothing can be added to the domain.
 * `advanceRelease` does the rest.
 * - A domain that has a registration or was ever verified is kept for 5 days. Meanwhile the account can restore the
 *   domain.
 * - Any other domain is deleted at once.
 * - With `purge` every domain is deleted at once. This includes deleted domains that are still kept.
 * - Without `purge`, nothing changes for a domain that is `releasing` already.
 *
 * Throws:
 * - 404 if the domain is gone;
 * - 409 `domain_not_empty` if the domain has mailboxes;
 * - 409 `release_required` if the name is registered or in redemption, and the caller does not give the name up;
 * - 409 `domain_not_ready` while the name is being registered, transferred or renewed.
 */
export function beginRelease(
  found: StoredDomain,
  { release, purge }: DeletionWish,
  context: Context,
): Promise<StoredDomain> {
  const { table, commit, now } = context;
  return commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (!domain) throw notFound();
    const hasBegun = domain.status === "releasing" && (!purge || keptUntil(domain) === undefined);
    if (hasBegun) {
      const [current] = (await domainViews(table, domain.account_id, [domain])) as [object];
      return { value: domain, writes: [], changes: [], current };
    }
    requireDeletable(domain, context);
    if (hasRegistration(domain) && !release) throw releaseRequired(domain);
    if (purge || !(hasRegistration(domain) || wasVerified(domain))) {
      return planDeletion(table, domain, now());
    }
    return planKept(table, domain, now());
  });
}

/**
 * Plans that a domain is kept for 5 days. The domain leaves its dedicated IP, unless an operation is moving domains of
 * this dedicated IP. A restored domain does not return to the dedicated IP that it has left.
 */
async function planKept(table: Reader, domain: StoredDomain, at: Date): Promise<ChangePlan<StoredDomain>> {
  const why = hasRegistration(domain) ? "released" : "deleted";
  const { left: ipMembers, sole, ...leaving } = await planLeaving(table, domain, at);
  const { before, after, ...releasing } = await planReleasing(table, domain, why, at, ipMembers);
  return {
    value: releasing.domain,
    writes: [...releasing.writes, ...leaving.writes],
    ...(sole ? { sole } : {}),
    changes: [change(domainKind, "releasing", domain.id, { before, after }), ...leaving.changes],
  };
}

/** Plans that a domain is deleted at once. */
async function planDeletion(table: Reader, domain: StoredDomain, at: Date): Promise<ChangePlan<StoredDomain>> {
  const { after, writes } = domainUpdate(domain, {
    status: "releasing",
    status_reason: null,
    deletes_at: null,
    is_open: false,
    updated_at: at.toISOString(),
    due_at: later(at, graceMs),
    failures: 0,
  });
  return { value: after, writes, changes: [await domainChange(table, "updated", domain, after)] };
}

/** Until when a name is registered, or in a period after the end of its registration. */
function standingOf({ name, registration }: StoredDomain): string {
  const unknown = "an unknown time";
  if (registration?.status === "grace")
    return `${name} is in its grace period until ${registration.grace_ends_at ?? unknown}.`;
  if (registration?.status === "redemption")
    return `${name} is in redemption until ${registration.redemption_ends_at ?? unknown}.`;
  return `${name} is registered until ${registration?.expires_at ?? unknown}.`;
}

const releaseRequired = (domain: StoredDomain): Problem =>
  new Problem(
    "release_required",
    `${standingOf(domain)} Deleting the domain gives the name up, after 5 days or with purge=true at once. There is no refund, and others can register the name. To delete the domain, send release=true. If you are transferring the name to another registrar, wait for the event domain.transferred_out, and then delete the domain.`,
  );

function requireDeletable(domain: StoredDomain, { permissions }: Context): void {
  const { name, status, mailbox_count } = domain;
  if (mailbox_count > 0) {
    const extras = maySeeMailboxes(domain, permissions) ? { mailbox_count } : {};
    throw new Problem("domain_not_empty", "The domain still has mailboxes. Delete them first.", extras);
  }
  if (status === "pending_registration") {
    throw notReady(status, `${name} is being registered. Wait until the registration is complete.`);
  }
  if (isTransferring(domain)) {
    throw notReady(status, `${name} is being transferred. Wait until the transfer is complete.`);
  }
  if (isRenewing(domain)) {
    throw notReady(status, `${name} is being renewed. Wait until the renewal is complete.`);
  }
}

/**
 * The outside services that a deletion needs. After `budgetMs` milliseconds, the deletion stops between two
 * transactions. Without `budgetMs`, the deletion has no time limit.
 */
export type ReleaseServices = { dns: Dns; registrar: Registrar; budgetMs?: number };

/** 503 `busy`: the time for a deletion is over. The rest of the deletion stays due. */
export class MoreToDelete extends Problem {
  constructor() {
    super("busy", "The domain has much to delete. The rest is deleted later.", { retry_after: 60 });
  }
}

/**
 * Continues the release of a domain. While the domain is kept, only its zone is removed, because the nameservers can
 * have only one zone of a name, and another account may need a zone of this name. Once the zone is removed, nothing is
 * done until `finishRelease` follows at `deletes_at`. Throws 503 when an outside service does not answer, while another
 * process syncs the zone, and when the time is over. The work then stays due.
 */
export async function advanceRelease(domain: StoredDomain, writer: Writer, services: ReleaseServices): Promise<void> {
  const until = keptUntil(domain);
  if (until !== undefined && until > writer.now().toISOString()) {
    if (domain.due_at === until) return;
    await removeZone(domain, writer, services.dns);
    return noteZoneRemoved(domain, until, writer);
  }
  if (until === undefined || (await endKeeping(domain, writer))) {
    await finishRelease(domain.account_id, domain.id, writer, services);
  }
}

/**
 * Ends the time for which a domain is kept. After this its account cannot restore the domain. False if another process
 * has changed the domain, or a transfer of the name is running.
 */
function endKeeping({ account_id, id, version }: StoredDomain, { table, commit }: Writer): Promise<boolean> {
  return commit(async () => {
    const domain = await domainById(table, account_id, id);
    // If the transfer succeeds, the domain gets its name back. So the domain is kept until the transfer is over.
    if (domain?.version !== version || isTransferring(domain)) return { value: false, writes: [], changes: [] };
    const { writes } = domainUpdate(domain, { deletes_at: null, status_reason: null });
    return { value: true, writes, changes: [], housekeeping: true };
  });
}

/** Records that the zone of a kept domain is removed, and makes the rest of the release due at `until`. */
function noteZoneRemoved({ account_id, id }: StoredDomain, until: string, { table, commit }: Writer): Promise<void> {
  return commit(async () => {
    const [domain, zone] = await Promise.all([domainById(table, account_id, id), getZone(table, account_id, id)]);
    // Meanwhile the account may have restored the domain, or have deleted it for good.
    if (domain?.status !== "releasing" || keptUntil(domain) !== until) {
      return { value: undefined, writes: [], changes: [] };
    }
    const { after, writes } = domainUpdate(domain, { deletes_at: until, due_at: until });
    const isNews = domain.deletes_at === null;
    return {
      value: undefined,
      writes: [...writes, ...(zone ? zoneRemovalWrites(zone) : [])],
      changes: isNews ? [await domainChange(table, "updated", domain, after)] : [],
      housekeeping: true,
    };
  });
}

/**
 * Deletes a domain that is `releasing`, with everything that belongs to the domain. Does nothing to any other domain.
 * Skips the steps that were done before. The order is:
 * - its zone and its registration,
 * - its mailboxes and records,
 * - the grants, master passwords and forwarding rules on it,
 * - its name, with the domain itself.
 *
 * Throws 503 when an outside service does not answer, while another process syncs the zone, and when the time is over.
 * The work then stays due.
 */
export async function finishRelease(
  accountId: string,
  id: string,
  writer: Writer,
  { dns, registrar, budgetMs = Infinity }: ReleaseServices,
): Promise<void> {
  const endsAtMs = performance.now() + budgetMs;
  // The time is checked only after a step, so each call makes progress.
  const requireTime = (): void => {
    if (performance.now() < endsAtMs) return;
    throw new MoreToDelete();
  };
  const domain = await domainById(writer.table, accountId, id);
  if (domain?.status !== "releasing") return;
  await removeZone(domain, writer, dns);
  // The registration is released only if the domain still holds its name. After a failed or ended registration, or a
  // takeover, another account may have the name.
  const holder = isRegistered(domain) ? await readHolder(writer.table, domain.name) : undefined;
  if (holder?.domain_id === id) await registrar.release(domain.name);
  while (await removeFirstMailbox(domain, writer)) requireTime();
  while (await purgeMailboxes(domain, writer, requireTime)) continue;
  while (await removeRecords(accountId, id, writer)) requireTime();
  while (!(await deleteRows(accountId, id, writer))) requireTime();
}

/**
 * Deletes one mailbox. False if there is none. `beginRelease` refuses a domain with mailboxes, so only a domain that
 * has lost its name can still have mailboxes here.
 */
async function removeFirstMailbox(domain: StoredDomain, writer: Writer): Promise<boolean> {
  const [mailbox] = await firstMailboxes(writer.table, domain.account_id, domain.id, 1);
  return mailbox !== undefined && dropMailbox(domain, mailbox.id, writer);
}

/** Purges some of the domain's deleted mailboxes, and calls `after` after each; false if there are none. */
async function purgeMailboxes({ account_id, id }: StoredDomain, writer: Writer, after: () => void): Promise<boolean> {
  const deleted = await deletedIn(writer.table, account_id, id);
  for (const { mailbox } of deleted) {
    await purgeMailbox(account_id, mailbox.id, writer);
    after();
  }
  return deleted.length > 0;
}

/** How many records one transaction deletes. A record takes three or four writes, with its entry in the audit log. */
const recordsAtOnce = 20;

/** Deletes up to 20 records of a domain. Returns whether the domain has more records. */
function removeRecords(accountId: string, id: string, { table, commit, now }: Writer): Promise<boolean> {
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

const NameHolder = z.object({ domain_id: z.string() });

/**
 * Deletes some of the grants, master passwords and forwarding rules on the domain. If there are none, deletes the
 * domain's own rows: the domain, its name, its zone, its DKIM keys, and its entries in lists and queues. The domain
 * then also leaves its dedicated IP. Returns whether the domain is gone.
 */
function deleteRows(accountId: string, id: string, { table, commit, now }: Writer): Promise<boolean> {
  return commit(async () => {
    const domain = await domainById(table, accountId, id);
    if (!domain) return { value: true, writes: [], changes: [] };
    // The grants are read after the domain, and a new grant raises the version of the domain. So the deletion of the
    // rows fails if a grant was added since.
    const { writes: access, changes } = await planScopePurge(table, accountId, { type: "domain", id }, now());
    if (access.length > 0) return { value: false, writes: access, changes, partial: true };
    const [before] = (await domainViews(table, accountId, [domain])) as [object];
    const [writes, ip, zone, subzones, holder, name] = await Promise.all([
      listRemovals(domain, table),
      planUnassigned(table, domain, now()),
      getZone(table, accountId, id),
      subzoneRemovals(table, domain),
      table.get(holderKey(domain.name), NameHolder),
      table.get(domainNameKey(accountId, domain.name), NameHolder),
    ]);
    // Another account may have taken the name over, and a failed name may have been bought again. So only rows that
    // refer to this domain are deleted.
    const ifOfThisDomain = { if: { domain_id: id } };
    return {
      value: true,
      writes: [
        ...writes,
        ...ip.writes,
        ...(holder?.domain_id === id ? [{ delete: holderKey(domain.name), ...ifOfThisDomain }] : []),
        ...(name?.domain_id === id ? [{ delete: domainNameKey(accountId, domain.name), ...ifOfThisDomain }] : []),
        ...(isRegistered(domain) && holder?.domain_id === id ? [releasedWrite(domain.name, now())] : []),
        { delete: zoneKey(accountId, id) },
        ...subzones,
        { delete: dkimKey(accountId, id) },
        ...(zone?.due_at ? [{ delete: zoneDueKey(zone, zone.due_at) }] : []),
      ],
      changes: [change(domainKind, "deleted", id, { before }), ...ip.changes],
      // `beginRelease` has compared `If-Match`.
      matched: true,
    };
  });
}

/** The writes that remove a domain from the lists and queues of its account. */
async function listRemovals(domain: StoredDomain, table: Reader): Promise<Write[]> {
  const { account_id, id, workspace_id, workspace_ordinal, name, version, due_at } = domain;
  // The id of a domain always has an ordinal (`idWithOrdinal`).
  const ordinal = ordinalOf(id) ?? -1;
  const [all, inWorkspace] = await Promise.all([
    readList(table, domainsOf(account_id), [ordinal]),
    readList(table, domainsIn(account_id, workspace_id), [workspace_ordinal]),
  ]);
  return [
    ...removeRows(all.state, [ordinal], { if: { id, version } }),
    ...removeRows(inWorkspace.state, [workspace_ordinal]),
    domainCountWrite(account_id, workspace_id, -1),
    lookalikeRemoval(account_id, name),
    ...(due_at === null ? [] : [{ delete: dueKey(domainQueue, [account_id, id], due_at) }]),
  ];
}

/**
 * Deletes a domain whose registration or transfer failed, so that its account can try the name again. Also deletes its
 * records, and the grants, master passwords and forwarding rules on it. Stops when the domain is not `failed` any more.
 */
export async function removeFailed(
  accountId: string,
  { id }: StoredDomain,
  { table, commit, now }: Writer,
): Promise<void> {
  // These transactions are `partial`: they store no answer. The caller's own transaction comes after them, and stores
  // the answer of the call.
  const writer: Writer = {
    table,
    now,
    commit: (plan) => commit(async () => ({ ...(await plan()), partial: true })),
  };
  const isFailed = async (): Promise<boolean> => (await domainById(table, accountId, id))?.status === "failed";
  while ((await isFailed()) && (await removeRecords(accountId, id, writer))) continue;
  while ((await isFailed()) && !(await deleteRows(accountId, id, writer))) continue;
}
