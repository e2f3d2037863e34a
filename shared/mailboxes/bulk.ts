import * as z from "zod";

import type { StoredDomain } from "../domains/domain.ts";
import { inParallel } from "../parallel.ts";
import type { Secrets } from "../providers/secrets.ts";
import type { Context } from "../route.ts";
import type { Table } from "../table/table.ts";
import { takingDomain } from "./add.ts";
import { mailboxById } from "./find.ts";
import { localPartFault } from "./local-part.ts";
import { newLogin } from "./login.ts";
import { Mailbox, PersonName, type Login, type StoredMailbox } from "./mailbox.ts";
import { AddressTaken, planMailboxes, requireTaking, type Person } from "./plan.ts";
import { mailboxViews } from "./view.ts";

const text = (description: string) => z.string().max(1_000).meta({ description });

/** One mailbox of many: what is wrong with it is told of it alone. */
export const BulkItem = z
  .strictObject({
    local_part: text("The part of the address before the @."),
    first_name: text("Given name of who has it."),
    last_name: text("Family name of who has it."),
  })
  .meta({ id: "MailboxBulkItem", description: "A mailbox to create." });
type BulkItem = z.output<typeof BulkItem>;

const codes = ["invalid_local_part", "invalid_name", "duplicate_in_request", "address_taken"] as const;

const Failure = z
  .object({
    index: z.int().min(0).meta({ description: "Its place in `items`." }),
    code: z.enum(codes).meta({ description: "Why it was not created." }),
    message: z.string().meta({ description: "Why, for people." }),
  })
  .meta({ id: "MailboxBulkFailure", description: "A mailbox that was not created." });
type Failure = z.output<typeof Failure>;

export const BulkAnswer = z
  .object({
    created: z
      .array(
        z.object({
          index: z.int().min(0).meta({ description: "Its place in `items`." }),
          mailbox: Mailbox.meta({ description: "The mailbox." }),
        }),
      )
      .meta({ description: "The mailboxes that were created, in the order of the request." }),
    failed: z.array(Failure).meta({ description: "Those that were not, in the order of the request." }),
  })
  .meta({ id: "MailboxBulkResponse", description: "What came of each mailbox." });
type BulkAnswer = z.output<typeof BulkAnswer>;

type Candidate = { index: number; person: Person };

/** What can be told of each item by itself and of those beside it. */
function sort(items: readonly BulkItem[]): { good: Candidate[]; failed: Failure[] } {
  const seen = new Set<string>();
  const good: Candidate[] = [];
  const failed: Failure[] = [];
  for (const [index, item] of items.entries()) {
    const local = localPartFault(item.local_part);
    const local_part = item.local_part.trim().toLowerCase();
    const names = [PersonName.safeParse(item.first_name), PersonName.safeParse(item.last_name)] as const;
    const wrong = names.find(({ success }) => !success)?.error?.issues[0]?.message;
    const [first_name = "", last_name = ""] = names.map(({ data }) => data);
    if (local !== undefined) failed.push({ index, code: "invalid_local_part", message: local });
    else if (wrong !== undefined) failed.push({ index, code: "invalid_name", message: `A name: ${wrong}` });
    else if (seen.has(local_part)) {
      failed.push({ index, code: "duplicate_in_request", message: "The same address stands further up." });
    } else good.push({ index, person: { local_part, first_name, last_name } });
    if (local === undefined) seen.add(local_part);
  }
  return { good, failed };
}

/** Four writes each, and few for all. */
const mailboxesAtOnce = 23;
const hashesAtOnce = 4;

type Work = { table: Table; secrets: Secrets };
type Made = { index: number; mailbox: StoredMailbox };

/**
 * Creates many mailboxes of one domain, a few dozen in a transaction; what stands in the way of one is told of it
 * alone. A keyed request that was cut off finds what it has made. 409 `domain_not_ready`.
 */
export async function addMailboxes(
  found: StoredDomain,
  items: readonly BulkItem[],
  context: Context,
  work: Work,
): Promise<BulkAnswer> {
  requireTaking(found);
  const { good, failed } = sort(items);
  const hashed = await inParallel(good, hashesAtOnce, () => newLogin(found.account_id, work));
  const logins = new Map<number, Login>();
  for (const [place, one] of hashed.entries()) {
    if (one.status === "rejected") throw one.reason;
    logins.set(good[place]?.index ?? -1, one.value);
  }
  const made: Made[] = [];
  let left = good;
  while (left.length > 0) {
    const some = left.slice(0, mailboxesAtOnce);
    const outcome = await tryTogether(found, some, logins, context);
    made.push(...outcome.made);
    failed.push(...outcome.failed);
    const done = new Set([...outcome.made, ...outcome.failed].map(({ index }) => index));
    left = left.filter(({ index }) => !done.has(index));
  }
  const views = await mailboxViews(
    context.table,
    found.account_id,
    made.map(({ mailbox }) => mailbox),
  );
  const value: BulkAnswer = {
    created: made
      .flatMap(({ index, mailbox }) => {
        const view = views.find(({ id }) => id === mailbox.id);
        return view ? [{ index, mailbox: view }] : [];
      })
      .toSorted((a, b) => a.index - b.index),
    failed: failed.toSorted((a, b) => a.index - b.index),
  };
  return context.commit(async () => ({ value, writes: [], changes: [] }));
}

/** Makes all of a few, or finds out about one of them what keeps it from being made. */
async function tryTogether(
  found: StoredDomain,
  some: readonly Candidate[],
  logins: ReadonlyMap<number, Login>,
  context: Context,
): Promise<{ made: Made[]; failed: Failure[] }> {
  const { table, commit, now, keyId } = context;
  try {
    const mailboxes = await commit(async () => {
      const domain = await takingDomain(found, context);
      const given = some.flatMap(({ index, person }) => {
        const login = logins.get(index);
        return login ? [{ person, login }] : [];
      });
      const planned = await planMailboxes(table, domain, given, { now: now(), madeBy: keyId });
      return { value: planned.mailboxes, writes: planned.writes, changes: planned.changes, partial: true };
    });
    const indexes = some.map(({ index }) => index);
    return { made: mailboxes.map((mailbox, place) => ({ index: indexes[place] ?? -1, mailbox })), failed: [] };
  } catch (error) {
    if (!(error instanceof AddressTaken)) throw error;
    const one = some.find(({ person }) => person.local_part === error.local);
    if (!one) throw error;
    const theirs = await mailboxById(table, found.account_id, error.mailboxId);
    const isOwn = keyId !== undefined && theirs?.made_by === keyId && theirs.local_part === error.local;
    if (theirs && isOwn) return { made: [{ index: one.index, mailbox: theirs }], failed: [] };
    const message = `${error.local}@${found.name} is an address of a mailbox already.`;
    return { made: [], failed: [{ index: one.index, code: "address_taken", message }] };
  }
}
