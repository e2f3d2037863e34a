import { change } from "../../changes/kind.ts";
import { notFound, Problem } from "../../core/errors.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainById } from "../../domains/find.ts";
import type { Context, Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Write } from "../../table/writes.ts";
import { expectedMailbox, mailboxById, type FoundMailbox } from "./find.ts";
import { mailboxKey, mailboxKind, type Mailbox, type StoredMailbox } from "./mailbox.ts";
import { blockKeyOf, namedOf, namesWrite } from "./names.ts";
import { requireQuota } from "./quota.ts";
import { mailboxCore, mailboxViewsIn } from "./view.ts";

type Verb = (typeof mailboxKind.verbs)[number];

/** Reads the current state of a mailbox and its domain, for one transaction. Throws 404 if one of them is gone. */
export async function currentMailbox({ mailbox, domain }: FoundMailbox, { table }: Context): Promise<FoundMailbox> {
  const [current, currentDomain] = await Promise.all([
    mailboxById(table, domain.account_id, mailbox.id),
    domainById(table, domain.account_id, domain.id),
  ]);
  if (!current || !currentDomain) throw notFound();
  return { mailbox: current, domain: currentDomain };
}

/**
 * The write that changes members of a mailbox. The transaction fails if the version of the mailbox has changed since
 * the mailbox was read. A report of usage by mail servers does not change the version. So a report between the read and
 * this write does not make the transaction fail. A write of the whole row would then undo the report, so the write sets
 * only the changed members.
 */
export function mailboxUpdate(
  { account_id }: Pick<StoredDomain, "account_id">,
  mailbox: StoredMailbox,
  members: Partial<StoredMailbox>,
  at: string,
): { after: StoredMailbox; write: Write } {
  const { id, version } = mailbox;
  const changed = { ...members, updated_at: at, version: version + 1 };
  const write: Write = { update: mailboxKey(account_id, id), set: changed, if: { id, version } };
  return { after: { ...mailbox, ...changed }, write };
}

/** The items that `mailboxInPath` reads, and the block of names that a change of the mailbox writes. */
export function aheadOfChange(expected: Expected, accountId: string, ref: string): Ahead {
  const { keys, id, again } = expectedMailbox(expected, accountId, ref);
  const block = id === undefined ? undefined : blockKeyOf(accountId, id);
  return { keys: [...keys, ...(block ? [block] : [])], ...(again ? { again } : {}) };
}

/**
 * Changes members of a mailbox. Writes nothing if the members have these values already. `quota` is in bytes. Throws:
 * - 404 if the mailbox does not exist any more
 * - 409 `mailbox_not_ready` for a change of the status, unless the mailbox is active or paused
 * - 412 if the mailbox does not match `If-Match`
 * - 422 if the plan does not allow the new quota
 */
export async function changeMailbox(
  found: FoundMailbox,
  members: {
    first_name?: string | undefined;
    last_name?: string | undefined;
    quota?: number | undefined;
    status?: "active" | "paused";
  },
  verb: Verb,
  context: Context,
): Promise<Mailbox> {
  const { table, commit, now } = context;
  const given = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  return commit(async () => {
    const { mailbox, domain } = await currentMailbox(found, context);
    const isSame = Object.entries(given).every(([name, value]) => mailbox[name as keyof StoredMailbox] === value);
    const next = mailboxUpdate(domain, mailbox, given, now().toISOString());
    const [shown] = await mailboxViewsIn([domain], table, domain.account_id, [isSame ? mailbox : next.after]);
    if (!shown) throw notFound();
    if (isSame) return { value: shown, writes: [], changes: [], current: shown };
    requireSwitchable(mailbox, given);
    // A mailbox keeps its quota when the plan changes, so an unchanged quota is not checked.
    if (members.quota !== undefined && members.quota !== mailbox.quota) {
      await requireQuota(table, domain.account_id, members.quota, now());
    }
    const states = { before: mailboxCore(mailbox, domain), after: mailboxCore(next.after, domain) };
    const names = await namesWrite(table, domain.account_id, namedOf(next.after, domain));
    return { value: shown, writes: [next.write, names], changes: [change(mailboxKind, verb, mailbox.id, states)] };
  });
}

/** Throws 409 `mailbox_not_ready` for a change of status, unless the mailbox is active or paused. */
function requireSwitchable({ status }: StoredMailbox, given: Record<string, unknown>): void {
  if (given["status"] === undefined || status === "active" || status === "paused") return;
  throw new Problem(
    "mailbox_not_ready",
    `The mailbox is ${status}. Only an active or paused mailbox can be paused or resumed.`,
    { mailbox_status: status },
  );
}
