import * as z from "zod";

import { covers } from "../../auth/permissions.ts";
import { mapConcurrently, allFulfilled } from "../../core/concurrency.ts";
import { Problem } from "../../core/errors.ts";
import { domainById, domainByName, domainsByIds } from "../../domains/find.ts";
import { startTimer } from "../../http/request-time.ts";
import type { Context } from "../../http/route.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { planDeletion } from "./delete.ts";
import { deletedOrRestored } from "./deleted.ts";
import { scopesOfMailbox, type FoundMailbox } from "./find.ts";
import { readAddress } from "./local-part.ts";
import { mailboxesByIds } from "./lookup.ts";
import { addressKey, StoredAddress, type StoredMailbox } from "./mailbox.ts";

const Index = z.int().min(0).meta({ description: "The mailbox's index in `mailboxes`, from 0." });

const Deleted = z.object({
  index: Index,
  mailbox_id: z.string().meta({ description: "The id that the mailbox had." }),
});
type Deleted = z.output<typeof Deleted>;

const Failure = z
  .object({
    index: Index,
    code: z.enum(["not_found", "forbidden", "duplicate_in_request", "not_attempted"]).meta({
      description:
        "Why the mailbox was not deleted. `not_found`: there is no such mailbox, or you cannot see it. `forbidden`: you lack the capability `mailbox.delete` on it. `not_attempted`: the request ran out of time. Send the mailbox again in a new request with another `Idempotency-Key`.",
    }),
    message: z.string().meta({ description: "The reason in words, for people." }),
  })
  .meta({ id: "MailboxBulkDeleteFailure", description: "A mailbox that was not deleted." });
type Failure = z.output<typeof Failure>;

export const BulkDeleteAnswer = z
  .object({
    deleted: z.array(Deleted).meta({ description: "The mailboxes that were deleted, in the order of the request." }),
    failed: z.array(Failure).meta({ description: "The mailboxes that were not deleted, in the order of the request." }),
  })
  .meta({ id: "MailboxBulkDeleteResponse", description: "The mailboxes that were deleted, and those that failed." });
export type BulkDeleteAnswer = z.output<typeof BulkDeleteAnswer>;

/*
 * Access patterns
 *   the mailboxes that a request with a key has deleted   ACCOUNT#<id> / BULK_DELETE#<id of the request>
 */
const progressKey = (accountId: string, keyId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `BULK_DELETE#${keyId}`,
});

/**
 * A deleted mailbox of the request. `address` is its primary address. By `address`, a repeat of the request finds out
 * whether a reference names this mailbox. Rows of earlier versions have no `address`.
 */
const Done = Deleted.extend({ address: z.string().optional() });
type Done = z.output<typeof Done>;

const StoredProgress = z.object({ deleted: z.array(Done) });

/**
 * How long the progress is stored, in seconds. The answer to a request with an `Idempotency-Key` is stored for a
 * shorter time.
 */
const progressSeconds = 2 * 86_400;

/** A mailbox to delete, with its index in the request. */
type Candidate = { index: number; found: FoundMailbox };
/**
 * The result of one transaction: the mailboxes that it deleted, the mailboxes that are gone or that the caller can no
 * longer delete, and the mailboxes that are left for the next transaction.
 */
type DeletionStep = { deleted: Done[]; missing: Candidate[]; left: Candidate[] };
/** A request, with the mailboxes that are deleted so far and the failures so far. */
type Deletion = { accountId: string; context: Context; deleted: Done[]; failed: Failure[] };
/** The part of a `Deletion` by which mailboxes are selected. A preview of a request has this part too. */
type Selection = Pick<Deletion, "accountId" | "deleted" | "failed"> & {
  context: Pick<Context, "table" | "permissions">;
};

const failureReasons: Record<Failure["code"], string> = {
  not_found: "There is no such mailbox in this account, or you cannot see it.",
  forbidden: "This needs the capability mailbox.delete.",
  duplicate_in_request: "An earlier item of this request is the same mailbox.",
  not_attempted: "The request ran out of time before this mailbox. Send the mailbox again.",
};

const failure = (index: number, code: Failure["code"]): Failure => ({ index, code, message: failureReasons[code] });

/**
 * Deletes many mailboxes as `deleteMailbox` does, up to 9 mailboxes of one domain in each transaction.
 * - A mailbox that cannot be deleted is reported, and the others are deleted.
 * - Mailboxes that are left when time runs out are reported as `not_attempted`.
 * - If a request with an `Idempotency-Key` is sent again after an interruption, the repeat deletes the rest. It also
 *   reports the mailboxes that were deleted before. A new mailbox that meanwhile got the address of a deleted mailbox
 *   is not deleted.
 */
export async function deleteMailboxes(
  accountId: string,
  refs: readonly string[],
  context: Context,
): Promise<BulkDeleteAnswer> {
  const isOver = startTimer(context);
  const { table, keyId } = context;
  const earlier = keyId === undefined ? undefined : await table.get(progressKey(accountId, keyId), StoredProgress);
  const deletion: Deletion = { accountId, context, deleted: earlier?.deleted ?? [], failed: [] };
  let left = await candidatesAmong(refs, deletion);
  for (let isFirst = true; left.length > 0 && (isFirst || !isOver()); isFirst = false) {
    const isInFirstDomain = isIn(left[0]?.found.domain.id);
    const ofFirstDomain = left.filter(isInFirstDomain);
    const ofOthers = left.filter((one) => !isInFirstDomain(one));
    const step = await deleteTogether(ofFirstDomain, deletion);
    left = [...step.left, ...ofOthers];
    deletion.deleted.push(...step.deleted);
    deletion.failed.push(...step.missing.map(({ index }) => failure(index, "not_found")));
  }
  deletion.failed.push(...left.map(({ index }) => failure(index, "not_attempted")));
  const deleted = deletion.deleted.map(({ index, mailbox_id }) => ({ index, mailbox_id }));
  const value = { deleted: deleted.toSorted(byIndex), failed: deletion.failed.toSorted(byIndex) };
  return context.commit(async () => ({ value, writes: [], changes: [] }));
}

/**
 * The mailboxes that `deleteMailboxes` would delete, and the mailboxes that would fail. `deleted` has the addresses of
 * the mailboxes, or the ids of mailboxes that the caller cannot see.
 */
export async function previewDeletion(
  accountId: string,
  refs: readonly string[],
  context: Pick<Context, "table" | "permissions">,
): Promise<{ deleted: string[]; failed: Failure[] }> {
  const failed: Failure[] = [];
  const candidates = await candidatesAmong(refs, { accountId, context, deleted: [], failed });
  const nameOf = ({ found }: Candidate): string => {
    const isSeen = covers(context.permissions, "mailbox.view", scopesOfMailbox(found));
    return isSeen ? primaryAddressOf(found) : found.mailbox.id;
  };
  return { deleted: candidates.map(nameOf), failed };
}

const primaryAddressOf = ({ mailbox, domain }: FoundMailbox): string => `${mailbox.local_part}@${domain.name}`;

/**
 * Requires `mailbox.delete` on the mailboxes that a request deleted, before a repeat of the request gets the stored
 * answer. This includes the mailboxes that were restored since, but not the mailboxes that were purged since. Throws
 * 403 `forbidden`.
 */
export async function requireDeleted(
  accountId: string,
  { deleted }: z.output<typeof BulkDeleteAnswer>,
  { table, permissions }: Pick<Context, "table" | "permissions">,
): Promise<void> {
  if (covers(permissions, "mailbox.delete", [])) return;
  const results = await mapConcurrently(deleted, readAtOnce, ({ mailbox_id: id }) =>
    deletedOrRestored(table, accountId, id),
  );
  const isLost = (one: FoundMailbox | undefined): boolean =>
    one !== undefined && !covers(permissions, "mailbox.delete", scopesOfMailbox(one));
  if (!allFulfilled(results).some(isLost)) return;
  throw new Problem("forbidden", "This needs the capability mailbox.delete on all mailboxes that were deleted.", {
    required_capability: "mailbox.delete",
  });
}

const byIndex = (a: { index: number }, b: { index: number }): number => a.index - b.index;

const isIn =
  (domainId: string | undefined) =>
  ({ found }: Candidate): boolean =>
    found.domain.id === domainId;

/** The mailboxes to delete. Adds the mailboxes that cannot be deleted to `failed`. */
async function candidatesAmong(
  refs: readonly string[],
  { accountId, context: { table, permissions }, deleted, failed }: Selection,
): Promise<Candidate[]> {
  const doneIndexes = new Set(deleted.map(({ index }) => index));
  const takenIds = new Set(deleted.map(({ mailbox_id }) => mailbox_id));
  // Whether a reference names a mailbox that was deleted before an interruption. Such a reference must not reach a new
  // mailbox that has the same address.
  const namesDeleted = (ref: string): boolean => {
    const address = readAddress(ref);
    const name = address ? `${address.local}@${address.domain}` : undefined;
    return deleted.some((one) =>
      name === undefined ? one.mailbox_id === ref.trim().toLowerCase() : one.address === name,
    );
  };
  const all = await mailboxesByRefs(table, accountId, refs);
  return all.flatMap((found, index) => {
    if (doneIndexes.has(index)) return [];
    if (namesDeleted(refs[index] ?? "")) {
      failed.push(failure(index, "duplicate_in_request"));
      return [];
    }
    const may = (capability: "mailbox.delete" | "mailbox.view"): boolean =>
      found !== undefined && covers(permissions, capability, scopesOfMailbox(found));
    if (!found || !(may("mailbox.delete") || may("mailbox.view"))) failed.push(failure(index, "not_found"));
    else if (!may("mailbox.delete")) failed.push(failure(index, "forbidden"));
    else if (takenIds.has(found.mailbox.id)) failed.push(failure(index, "duplicate_in_request"));
    else {
      takenIds.add(found.mailbox.id);
      return [{ index, found }];
    }
    return [];
  });
}

/**
 * The mailbox of each reference, an id or a primary address, with its domain. Takes a few round trips for all
 * references together.
 */
async function mailboxesByRefs(
  table: Reader,
  accountId: string,
  refs: readonly string[],
): Promise<(FoundMailbox | undefined)[]> {
  const addresses = refs.map(readAddress);
  const names = [...new Set(addresses.flatMap((address) => address?.domain ?? []))];
  const namedDomains = await Promise.all(names.map((name) => domainByName(table, accountId, name)));
  const wanted = addresses.flatMap((address, index) => {
    const domain = address && namedDomains[names.indexOf(address.domain)];
    return domain ? [{ index, key: addressKey(accountId, domain.id, address.local) }] : [];
  });
  const owners = await table.getMany(wanted.map(({ key }) => key));
  const ids = refs.map((ref, index) => (addresses[index] ? undefined : ref.trim().toLowerCase()));
  for (const [place, { index }] of wanted.entries()) {
    const owner = owners[place] && StoredAddress.parse(owners[place]);
    if (owner?.kind === "mailbox") ids[index] = owner.mailbox_id;
  }
  const distinct = [...new Set(ids.filter((id) => id !== undefined))];
  const mailboxes = await mailboxesByIds(table, accountId, distinct);
  const domains = await domainsByIds(table, accountId, [...new Set(mailboxes.map(({ domain_id }) => domain_id))]);
  return ids.map((id) => {
    const mailbox = mailboxes.find((one) => one.id === id);
    const domain = domains.find((one) => one.id === mailbox?.domain_id);
    return mailbox && domain && { mailbox, domain };
  });
}

const deletedOf = ({ index, found }: Candidate): Done => ({
  index,
  mailbox_id: found.mailbox.id,
  address: primaryAddressOf(found),
});

/**
 * The write that stores which mailboxes a request with an `Idempotency-Key` has deleted. The transaction that deletes
 * `more` mailboxes makes this write.
 */
function progressWrites(more: readonly Done[], { accountId, context, deleted }: Deletion): Write[] {
  const { keyId, now } = context;
  if (keyId === undefined) return [];
  const ttl = Math.ceil(now().getTime() / 1_000) + progressSeconds;
  return [{ put: { ...progressKey(accountId, keyId), deleted: [...deleted, ...more], ttl } }];
}

/**
 * How many writes the deletion of a mailbox takes at most. These are its rows and addresses, its rows as a deleted
 * mailbox, its entry in the audit log, and a bitmap in each of two lists. A transaction holds 100 writes, and needs a
 * few for itself.
 */
const writesFor = ({ aliases }: StoredMailbox): number => 10 + aliases.length;
const writesAtOnce = 91;

/** The first mailboxes that fit into one transaction. */
function fitting(mailboxes: readonly StoredMailbox[]): StoredMailbox[] {
  const some: StoredMailbox[] = [];
  let writes = 0;
  for (const mailbox of mailboxes) {
    writes += writesFor(mailbox);
    if (writes > writesAtOnce) break;
    some.push(mailbox);
  }
  return some;
}

const readAtOnce = 16;

/** Deletes, in one transaction, the first of the given mailboxes of one domain that fit into the transaction. */
function deleteTogether(given: readonly Candidate[], deletion: Deletion): Promise<DeletionStep> {
  const { accountId, context } = deletion;
  const { table, commit, now } = context;
  const [first, rest] = [given.slice(0, readAtOnce), given.slice(readAtOnce)];
  const domainId = first[0]?.found.domain.id ?? "";
  return commit(async () => {
    const ids = first.map(({ found }) => found.mailbox.id);
    const [domain, current] = await Promise.all([
      domainById(table, accountId, domainId),
      mailboxesByIds(table, accountId, ids),
    ]);
    const allowed = domain ? current.filter((mailbox) => mayDelete({ mailbox, domain }, context)) : [];
    const allowedIds = new Set(allowed.map(({ id }) => id));
    const chosen = fitting(allowed);
    const chosenIds = new Set(chosen.map(({ id }) => id));
    const candidatesIf = (isOne: (id: string) => boolean) => first.filter(({ found }) => isOne(found.mailbox.id));
    const value: DeletionStep = {
      deleted: candidatesIf((id) => chosenIds.has(id)).map(deletedOf),
      missing: candidatesIf((id) => !allowedIds.has(id)),
      left: [...candidatesIf((id) => allowedIds.has(id) && !chosenIds.has(id)), ...rest],
    };
    if (!domain || chosen.length === 0) return { value, writes: [], changes: [], partial: true };
    const { writes, changes } = await planDeletion(table, domain, chosen, now());
    return { value, writes: [...writes, ...progressWrites(value.deleted, deletion)], changes, partial: true };
  });
}

/**
 * Whether the caller may delete a mailbox in the present workspace of its domain. The domain may have moved since the
 * request began.
 */
const mayDelete = (found: FoundMailbox, { permissions }: Context): boolean =>
  covers(permissions, "mailbox.delete", scopesOfMailbox(found));
