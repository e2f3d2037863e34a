import * as z from "zod";

import { mapConcurrently, allFulfilled } from "../../core/concurrency.ts";
import { csvOf } from "../../core/csv.ts";
import { isRefusal } from "../../core/errors.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { startTimer } from "../../http/request-time.ts";
import type { Context } from "../../http/route.ts";
import { inWords } from "../../http/validation-messages.ts";
import { readReadyDomain } from "./add.ts";
import { localPartFault } from "./local-part.ts";
import { mailboxesByIds } from "./lookup.ts";
import { type Login, Mailbox, StoredAddress, type StoredMailbox, addressKey, personName } from "./mailbox.ts";
import { type LoginServices, newLogin } from "./password.ts";
import { AddressTaken, type Person, mailboxHeads, planMailboxes, requireReady } from "./plan.ts";
import { quotaFaults, quotaMeta } from "./quota.ts";
import { mailboxViews } from "./view.ts";

const csvText = (description: string) => z.string().max(1_000).meta({ description });

/**
 * One of many mailboxes to create. A text that the schema refuses makes the whole request fail. So the schema accepts
 * most faulty texts, and `sortItems` refuses only the items that have them.
 */
export const BulkItem = z
  .strictObject({
    local_part: csvText("The part of the address before the @."),
    first_name: csvText("The given name of the mailbox's user."),
    last_name: csvText("The family name of the mailbox's user."),
    quota_allowed: z.int().optional().meta(quotaMeta),
  })
  .meta({ id: "MailboxBulkItem", description: "A mailbox to create." });
export type BulkItem = z.output<typeof BulkItem>;

const codes = [
  "invalid_local_part",
  "invalid_name",
  "invalid_quota",
  "duplicate_in_request",
  "address_taken",
  "not_attempted",
] as const;

const ItemFailure = z
  .object({
    index: z.int().min(0).meta({ description: "The item's index in `items`, from 0." }),
    code: z.enum(codes).meta({
      description:
        "Why the mailbox was not created. `invalid_quota`: the quota is too small, or more than the plan allows. `not_attempted`: the request ran out of time, or was refused before this item. Send the item again in a new request with another `Idempotency-Key`.",
    }),
    message: z.string().meta({ description: "The reason in words, for people." }),
  })
  .meta({ id: "MailboxBulkFailure", description: "A mailbox that was not created." });
type ItemFailure = z.output<typeof ItemFailure>;

export const BulkAnswer = z
  .object({
    created: z
      .array(
        z.object({
          index: z.int().min(0).meta({ description: "The item's index in `items`, from 0." }),
          mailbox: Mailbox.meta({ description: "The mailbox." }),
        }),
      )
      .meta({ description: "The mailboxes that were created, in the order of the request." }),
    failed: z
      .array(ItemFailure)
      .meta({ description: "The mailboxes that were not created, in the order of the request." }),
  })
  .meta({ id: "MailboxBulkResponse", description: "The mailboxes that were created, and those that failed." });
export type BulkAnswer = z.output<typeof BulkAnswer>;

/** A mailbox that passed the checks, with its place in the request. */
type Candidate = { index: number; person: Person };

const Name = personName("The name of a person.");

/** Explains why the names of an item are invalid; undefined if they are valid. */
function nameFault(item: BulkItem): string | undefined {
  for (const member of ["first_name", "last_name"] as const) {
    const issue = Name.safeParse(item[member], { error: inWords }).error?.issues[0];
    if (issue) return `${member}: ${issue.message}`;
  }
  return undefined;
}

/** Sorts the items into valid and failed items, by checks that do not read the table. */
function sortItems(items: readonly BulkItem[]): { good: Candidate[]; failed: ItemFailure[] } {
  const seen = new Set<string>();
  const good: Candidate[] = [];
  const failed: ItemFailure[] = [];
  for (const [index, item] of items.entries()) {
    const [localFault, namesFault] = [localPartFault(item.local_part), nameFault(item)];
    const person = {
      local_part: item.local_part.trim().toLowerCase(),
      first_name: item.first_name.trim(),
      last_name: item.last_name.trim(),
      quota_allowed: item.quota_allowed,
    };
    if (localFault !== undefined) failed.push({ index, code: "invalid_local_part", message: localFault });
    else if (namesFault !== undefined) failed.push({ index, code: "invalid_name", message: namesFault });
    else if (seen.has(person.local_part)) {
      failed.push({
        index,
        code: "duplicate_in_request",
        message: "An earlier item of this request has the same address.",
      });
    } else {
      good.push({ index, person });
      seen.add(person.local_part);
    }
  }
  return { good, failed };
}

/**
 * The most mailboxes that one transaction creates. A transaction has 100 writes at most. Each mailbox takes four
 * writes, and the transaction itself takes a few more.
 */
const mailboxesAtOnce = 23;
const passwordsAtOnce = 10;

/** A mailbox that was created, with the index of its item. */
type Made = { index: number; mailbox: StoredMailbox };
/** The mailboxes that were created, the items that failed, and the items that are left to create. */
type Progress = { made: Made[]; failed: ItemFailure[]; left: Candidate[] };
/** The generated passwords of the items. */
type Logins = Map<Candidate, Login>;

/**
 * Creates many mailboxes of one domain, up to 23 in each transaction.
 * - A fault in one item is reported for that item only.
 * - Items that are left when time runs out are reported as `not_attempted`. So are the items that are left when the
 *   request is refused after some mailboxes were created.
 * - If a request with an `Idempotency-Key` is sent again after an interruption, the repeat finds the mailboxes that
 *   were created before.
 *
 * Throws, if neither this call nor an earlier attempt of the same request has created a mailbox:
 * - 404 if the domain does not exist any more
 * - 409 `domain_not_ready` if the domain accepts no new addresses
 *
 * Throws 503 if the key service does not answer, even if some mailboxes were created before.
 */
export async function addMailboxes(
  found: StoredDomain,
  items: readonly BulkItem[],
  context: Context,
  work: LoginServices,
): Promise<BulkAnswer> {
  const isOver = startTimer(context);
  const { good, failed } = sortItems(items);
  const existing = await existingAddresses(found, good, context);
  // A repeat reports the mailboxes of an interrupted attempt, even if the domain has stopped accepting new addresses
  // since.
  if (existing.made.length === 0) requireReady(found);
  let progress = await withinQuota(found, existing, context);
  const logins: Logins = new Map();
  let refusal: string | undefined;
  for (let isFirst = true; progress.left.length > 0; isFirst = false) {
    if (!isFirst && isOver()) break;
    const [some, rest] = [progress.left.slice(0, mailboxesAtOnce), progress.left.slice(mailboxesAtOnce)];
    await addLogins(logins, found, some, work);
    let next: Progress;
    try {
      const created = await createTogether(found, some, logins, context);
      // If another request has taken one of these addresses meanwhile, `existingAddresses` finds out which.
      next = created ?? (await existingAddresses(found, some, context));
    } catch (error) {
      if (progress.made.length === 0 || !isRefusal(error)) throw error;
      refusal = error.message;
      break;
    }
    progress = {
      made: [...progress.made, ...next.made],
      failed: [...progress.failed, ...next.failed],
      left: [...next.left, ...rest],
    };
  }
  const notMade = [...failed, ...progress.failed, ...progress.left.map(notAttempted(refusal))];
  const value = await bulkAnswer(found, progress.made, notMade, context);
  return context.commit(async () => ({ value, writes: [], changes: [] }));
}

const notAttempted =
  (refusal = "The request ran out of time before this item. Send the item again.") =>
  ({ index }: Candidate): ItemFailure => ({ index, code: "not_attempted", message: refusal });

/** Generates a password for each candidate that has none yet. */
async function addLogins(
  logins: Logins,
  { account_id, id: domain_id }: StoredDomain,
  candidates: readonly Candidate[],
  work: LoginServices,
): Promise<void> {
  const without = candidates.filter((candidate) => !logins.has(candidate));
  const results = await mapConcurrently(without, passwordsAtOnce, async (candidate) => {
    logins.set(candidate, await newLogin({ account_id, domain_id, local_part: candidate.person.local_part }, work));
  });
  allFulfilled(results);
}

/**
 * Looks up which of the wanted addresses exist. An address that an earlier, interrupted attempt of the same request
 * with an `Idempotency-Key` created counts as created now. Any other address that exists is taken.
 */
async function existingAddresses(
  { account_id, id, name }: StoredDomain,
  candidates: readonly Candidate[],
  { table, keyId }: Context,
): Promise<Progress> {
  const owners = await table.getMany(candidates.map(({ person }) => addressKey(account_id, id, person.local_part)));
  const ids = owners.map((owner) => owner && StoredAddress.parse(owner).mailbox_id);
  const found = await mailboxesByIds(
    table,
    account_id,
    ids.filter((one) => one !== undefined),
  );
  const mailboxes = new Map(found.map((mailbox) => [mailbox.id, mailbox]));
  const progress: Progress = { made: [], failed: [], left: [] };
  for (const [place, candidate] of candidates.entries()) {
    const { index, person } = candidate;
    const ownerId = ids[place];
    const mailbox = mailboxes.get(ownerId ?? "");
    const isOwn = keyId !== undefined && mailbox?.made_by === keyId && mailbox.local_part === person.local_part;
    const message = `${person.local_part}@${name} is an address of a mailbox already. Choose another address.`;
    if (ownerId === undefined) progress.left.push(candidate);
    else if (mailbox && isOwn) progress.made.push({ index, mailbox });
    else progress.failed.push({ index, code: "address_taken", message });
  }
  return progress;
}

/** Moves the mailboxes whose quota is not allowed from `left` to `failed`. */
async function withinQuota(
  { account_id }: StoredDomain,
  { made, failed, left }: Progress,
  { table, now }: Context,
): Promise<Progress> {
  if (left.every(({ person }) => person.quota_allowed === undefined)) return { made, failed, left };
  const faultOf = await quotaFaults(table, account_id, now());
  const failures = left.flatMap(({ index, person }): ItemFailure[] => {
    const message = faultOf(person.quota_allowed);
    return message === undefined ? [] : [{ index, code: "invalid_quota", message }];
  });
  const within = left.filter(({ person }) => faultOf(person.quota_allowed) === undefined);
  return { made, failed: [...failed, ...failures], left: within };
}

/**
 * Creates some mailboxes in one transaction; undefined when another mailbox has taken one of their addresses meanwhile.
 */
async function createTogether(
  found: StoredDomain,
  some: readonly Candidate[],
  logins: Logins,
  context: Context,
): Promise<Progress | undefined> {
  const { table, commit, now, keyId } = context;
  const given = some.map((candidate) => {
    const login = logins.get(candidate);
    if (!login) throw new Error("A mailbox has no password to be created with.");
    return { person: candidate.person, login };
  });
  try {
    const mailboxes = await commit(async () => {
      const [domain, heads] = await Promise.all([
        readReadyDomain(found, context),
        mailboxHeads(table, found, given.length),
      ]);
      const planned = planMailboxes(heads, domain, given, { now: now(), madeBy: keyId });
      return { value: planned.mailboxes, writes: planned.writes, changes: planned.changes, partial: true };
    });
    const made = mailboxes.flatMap((mailbox, place) => {
      const candidate = some[place];
      return candidate ? [{ index: candidate.index, mailbox }] : [];
    });
    return { made, failed: [], left: [] };
  } catch (error) {
    if (error instanceof AddressTaken) return undefined;
    throw error;
  }
}

const byIndex = (a: { index: number }, b: { index: number }): number => a.index - b.index;

/** The answer for all items, in the order of the request. */
async function bulkAnswer(
  { account_id }: StoredDomain,
  made: readonly Made[],
  failed: readonly ItemFailure[],
  { table }: Context,
): Promise<BulkAnswer> {
  const views = await mailboxViews(
    table,
    account_id,
    made.map(({ mailbox }) => mailbox),
  );
  const byId = new Map(views.map((view) => [view.id, view]));
  const created = made.flatMap(({ index, mailbox: { id } }) => {
    const mailbox = byId.get(id);
    return mailbox ? [{ index, mailbox }] : [];
  });
  return { created: created.toSorted(byIndex), failed: failed.toSorted(byIndex) };
}

const columns = [
  "id",
  "email",
  "local_part",
  "domain",
  "workspace",
  "first_name",
  "last_name",
  "status",
  "aliases",
  "quota_allowed",
  "quota_used",
  "created_at",
  "updated_at",
];

const rowOf = (mailbox: Mailbox): string[] => [
  mailbox.id,
  mailbox.primary_email,
  mailbox.local_part,
  mailbox.domain_name,
  mailbox.workspace_name,
  mailbox.first_name,
  mailbox.last_name,
  mailbox.status,
  mailbox.aliases.map(({ alias }) => alias).join(" "),
  String(mailbox.quota.allowed),
  String(mailbox.quota.used),
  mailbox.created_at,
  mailbox.updated_at,
];

export const csvHeader = (): string => csvOf([columns]);

/** Mailboxes as lines of a CSV file. */
export const csvLines = (mailboxes: readonly Mailbox[]): string => csvOf(mailboxes.map(rowOf));
