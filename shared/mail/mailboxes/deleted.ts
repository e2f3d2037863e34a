import * as z from "zod";

import { covers } from "../../auth/permissions.ts";
import { invalidAt, type InvalidInput } from "../../core/errors.ts";
import { type OrderedPage, spanOf } from "../../core/page.ts";
import { dayMs, later, Timestamp } from "../../core/time.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainById, domainByName, domainsByIds, scopesOfDomain } from "../../domains/find.ts";
import type { Context, Expected, ResourceLookup } from "../../http/route.ts";
import { dueKey, dueWrite, type Queue } from "../../table/due.ts";
import { atOneMoment, ListChanged } from "../../table/moment.ts";
import {
  type List,
  type ListState,
  aheadOfRows,
  appendRows,
  readList,
  removeRows,
  rowKey,
} from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { type FoundMailbox, mailboxByRef, scopesOfMailbox } from "./find.ts";
import { readAddress } from "./local-part.ts";
import { Mailbox, mailboxKey, StoredMailbox } from "./mailbox.ts";
import { mailboxViewsIn, notePlaces, seenPlaces } from "./view.ts";

/*
 * A deleted mailbox leaves the lists of mailboxes, and its addresses are free. For 7 days it is stored in a list of its
 * own, and can be restored. The grants on the mailbox stay, so that they can be seen and revoked. A grant of
 * `mailbox.delete` on the deleted mailbox allows its holder to list and restore the mailbox. Other capabilities allow
 * nothing on the mailbox.
 *
 * Access patterns
 *   mailboxes of an account, in deletion order           ACCOUNT#<id> / LIST#deleted_mailboxes
 *   a mailbox by its id                                  ACCOUNT#<id> / DELETED_MAILBOX#<id>
 *   mailboxes that had an address, or were in a domain   ACCOUNT#<id> / DELETED_ADDRESS#<domain id>#<local part>#<id>
 *   mailboxes that are due to be purged                  MAILBOX_DUE#<shard>
 */
export const deletedMailboxesOf = (accountId: string): List => ({
  partition: `ACCOUNT#${accountId}`,
  name: "deleted_mailboxes",
});
const deletedKey = (accountId: string, id: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `DELETED_MAILBOX#${id}`,
});
const deletedAddressKey = (accountId: string, domainId: string, local = "", id = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `DELETED_ADDRESS#${domainId}#${local === "" ? "" : `${local}#${id}`}`,
});

/** Deleted mailboxes that are due to be purged, keyed by account and mailbox. */
export const mailboxQueue: Queue = { name: "MAILBOX_DUE", shards: 16 };

/** The time in which a deleted mailbox can be restored, in milliseconds. */
const restorableMs = 7 * dayMs;

/**
 * A mailbox as it was when it was deleted. Mail servers end its sessions at `deleted_at`, and delete its mail at the
 * purge.
 */
const StoredDeleted = StoredMailbox.extend({ deleted_at: Timestamp, restorable_until: Timestamp });
type StoredDeleted = z.output<typeof StoredDeleted>;

/** A deleted mailbox, and its ordinal in the list of deleted mailboxes. */
export type Deleted = { mailbox: StoredDeleted; ordinal: number };

export const DeletedMailbox = Mailbox.extend({
  status: Mailbox.shape.status.meta({
    description: "The state that the mailbox had, and has again after its restoration.",
  }),
  deleted_at: Timestamp.meta({ description: "When the mailbox was deleted." }),
  restorable_until: Timestamp.meta({
    description:
      "Until when the mailbox can be restored. The mailbox is purged at this time, or together with its domain if the domain is deleted earlier.",
  }),
}).meta({ id: "DeletedMailbox", description: "A deleted mailbox, as it was when it was deleted." });
type DeletedMailbox = z.output<typeof DeletedMailbox>;

/** The writes that add mailboxes to the end of the list of deleted mailboxes. */
export function deletedWrites(
  state: ListState,
  accountId: string,
  mailboxes: readonly StoredMailbox[],
  now: Date,
): Write[] {
  const [deleted_at, restorable_until] = [now.toISOString(), later(now, restorableMs)];
  const rows = mailboxes.map((mailbox): StoredDeleted => ({ ...mailbox, deleted_at, restorable_until }));
  return [
    ...appendRows(state, rows),
    ...rows.flatMap(({ id, domain_id, local_part }, index): Write[] => {
      const ordinal = state.next + index;
      return [
        { put: { ...deletedKey(accountId, id), ordinal }, if: "absent" },
        { put: { ...deletedAddressKey(accountId, domain_id, local_part, id), ordinal } },
        dueWrite(mailboxQueue, [accountId, id], restorable_until),
      ];
    }),
  ];
}

/** The writes that remove a mailbox from the deleted mailboxes, because it is restored or purged. */
export async function deletedRemovals(
  table: Reader,
  accountId: string,
  { mailbox: { id, domain_id, local_part, restorable_until }, ordinal }: Deleted,
): Promise<Write[]> {
  const { state } = await readList(table, deletedMailboxesOf(accountId), [ordinal]);
  return [
    ...removeRows(state, [ordinal], { if: { id } }),
    { delete: deletedKey(accountId, id) },
    { delete: deletedAddressKey(accountId, domain_id, local_part, id) },
    { delete: dueKey(mailboxQueue, [accountId, id], restorable_until) },
  ];
}

const Pointer = z.object({ ordinal: z.int() });

/** The deleted mailboxes at some ordinals of the list, without the mailboxes that are gone meanwhile. */
async function deletedAt(table: Reader, accountId: string, ordinals: readonly number[]): Promise<Deleted[]> {
  const rows = await table.getMany(ordinals.map((ordinal) => rowKey(deletedMailboxesOf(accountId), ordinal)));
  return ordinals.flatMap((ordinal, index) => {
    const row = rows[index];
    return row ? [{ mailbox: StoredDeleted.parse(row), ordinal }] : [];
  });
}

/** The deleted mailbox with this id; undefined when the account has none. */
export async function deletedById(table: Reader, accountId: string, id: string): Promise<Deleted | undefined> {
  const pointer = await table.get(deletedKey(accountId, id), Pointer);
  if (!pointer) return undefined;
  const mailbox = await table.get(rowKey(deletedMailboxesOf(accountId), pointer.ordinal), StoredDeleted);
  return mailbox?.id === id ? { mailbox, ordinal: pointer.ordinal } : undefined;
}

/** Up to 100 deleted mailboxes of a domain. With `local`, only mailboxes whose own address had this local part. */
export async function deletedIn(
  table: Reader,
  accountId: string,
  domainId: string,
  local?: string,
): Promise<Deleted[]> {
  const { PK, SK } = deletedAddressKey(accountId, domainId, local);
  const items = await table.between(PK, SK, `${SK}~`, { limit: 100 });
  return deletedAt(
    table,
    accountId,
    items.map((item) => Pointer.parse(item).ordinal),
  );
}

/**
 * The deleted mailboxes of one domain that a reference names: the mailbox with an id, or all mailboxes that had an
 * address. If no deleted mailbox matches, `mailboxes` has the existing mailbox that the reference names. A restoration
 * that is repeated with its `Idempotency-Key` needs this mailbox to get the stored answer, because the mailbox exists
 * again.
 */
export type FoundDeleted = { mailboxes: readonly [StoredMailbox, ...StoredMailbox[]]; domain: StoredDomain };

async function deletedByRef(table: Reader, accountId: string, ref: string): Promise<FoundDeleted | undefined> {
  const address = readAddress(ref);
  const named = address && (await domainByName(table, accountId, address.domain));
  const found = address ? undefined : await deletedById(table, accountId, ref);
  const atAddress = named ? await deletedIn(table, accountId, named.id, address.local) : [];
  const all = found ? [found] : atAddress;
  const [first, ...others] = all.map(({ mailbox }) => mailbox);
  const domain = named ?? (first && (await domainById(table, accountId, first.domain_id)));
  if (first && domain) return { mailboxes: [first, ...others], domain };
  const existing = await mailboxByRef(table, accountId, ref);
  return existing && { mailboxes: [existing.mailbox], domain: existing.domain };
}

/**
 * The mailbox with this id, whether it exists or was deleted, and its domain. Undefined if the account never had the
 * mailbox, or if the mailbox is purged.
 */
export async function deletedOrRestored(
  table: Reader,
  accountId: string,
  id: string,
): Promise<FoundMailbox | undefined> {
  const found = await deletedByRef(table, accountId, id);
  return found && { mailbox: found.mailboxes[0], domain: found.domain };
}

/** The deleted mailboxes that the path of a route names by an id or an address, with their domain. */
export const deletedInPath: ResourceLookup<{ params: { account_id: string; mailbox: string } }, FoundDeleted> = {
  at: "path",
  within: ["mailbox", "domain", "workspace"],
  find: async ({ params }, table) => {
    const thing = await deletedByRef(table, params.account_id, params.mailbox);
    if (!thing) return undefined;
    const { mailboxes, domain } = thing;
    const [mailbox] = mailboxes;
    // The answer for several mailboxes shows the ids of all of them, so a grant on one mailbox is not enough.
    const scopes = mailboxes.length === 1 ? scopesOfMailbox({ mailbox, domain }) : scopesOfDomain(domain);
    return { id: mailbox.id, scopes, thing, label: `${mailbox.local_part}@${domain.name}` };
  },
};

/** The items that a restoration reads first. */
export function aheadOfRestoration(accountId: string, ref: string): Ahead {
  const pointer = deletedKey(accountId, ref);
  return { keys: readAddress(ref) ? [] : [pointer, pointer, mailboxKey(accountId, ref)], again: true };
}

/** The most deleted mailboxes that are filtered one by one. */
const filterLimit = 20_000;

const tooBroad = (): InvalidInput =>
  invalidAt(
    ["query", "domain"],
    `There are more than ${filterLimit.toLocaleString("en-US")} deleted mailboxes, too many to filter. List the deleted mailboxes of the whole account`,
    "too_broad",
  );

/** The items that `listDeleted` reads first for a principal who could restore all deleted mailboxes of the account. */
export const aheadOfDeleted = (
  accountId: string,
  { domain, ...page }: OrderedPage & { domain?: string | undefined },
  { permissions, seen }: Expected,
): Ahead => {
  if (domain !== undefined || !covers(permissions, "mailbox.delete", [])) return {};
  const { keys = [], ...rows } = aheadOfRows(deletedMailboxesOf(accountId), spanOf(page));
  return { ...rows, keys: [...keys, ...seenPlaces(accountId, seen)] };
};

const parseDeleted = (rows: readonly object[]): Promise<StoredDeleted[]> =>
  Promise.resolve(rows.map((row) => StoredDeleted.parse(row)));

/**
 * A page of the deleted mailboxes that the principal could restore, in the order of their deletion or its reverse.
 * Throws 422 `too_broad` if more than 20,000 deleted mailboxes would have to be filtered.
 */
export async function listDeleted(
  accountId: string,
  { domain: ref, ...page }: OrderedPage & { domain?: string | undefined },
  { table, permissions }: Context,
): Promise<{ items: DeletedMailbox[]; total: number }> {
  const { skip, take, order } = spanOf(page);
  return atOneMoment(table, async (moment) => {
    const sources = await moment.open([{ list: deletedMailboxesOf(accountId), resolve: parseDeleted }]);
    if (ref === undefined && covers(permissions, "mailbox.delete", [])) {
      const { rows, total } = await moment.page(sources, skip, take, order);
      return { items: await viewsOf(table, accountId, rows), total };
    }
    if ((sources[0]?.total ?? 0) > filterLimit) throw tooBroad();
    const { rows } = await moment.page(sources, 0, filterLimit, order);
    const ids = [...new Set(rows.map(({ domain_id }) => domain_id))];
    const homes = new Map((await domainsByIds(table, accountId, ids)).map((home) => [home.id, home]));
    const kept = rows.filter((mailbox) => {
      const domain = homes.get(mailbox.domain_id);
      const isWanted = domain && (ref === undefined || ref === domain.name || ref === domain.id);
      return isWanted && covers(permissions, "mailbox.delete", scopesOfMailbox({ mailbox, domain }));
    });
    return { items: await viewsOf(table, accountId, kept.slice(skip, skip + take)), total: kept.length };
  });
}

/** The API views of deleted mailboxes. Throws `ListChanged` if a domain is gone meanwhile. */
async function viewsOf(table: Reader, accountId: string, rows: readonly StoredDeleted[]): Promise<DeletedMailbox[]> {
  const ids = [...new Set(rows.map(({ domain_id }) => domain_id))];
  const domains = new Map((await domainsByIds(table, accountId, ids)).map((domain) => [domain.id, domain]));
  const views = await mailboxViewsIn([...domains.values()], table, accountId, rows);
  if (views.length < rows.length) throw new ListChanged();
  notePlaces(table, accountId, views);
  return views.map((view, index) => {
    const { deleted_at = "", restorable_until = "" } = rows[index] ?? {};
    const domainEnd = domains.get(view.domain_id)?.deletes_at ?? null;
    const until = domainEnd !== null && domainEnd < restorable_until ? domainEnd : restorable_until;
    return { ...view, deleted_at, restorable_until: until };
  });
}
