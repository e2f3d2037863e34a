import { change } from "../../changes/kind.ts";
import { notFound, Problem } from "../../core/errors.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainById } from "../../domains/find.ts";
import type { Context, Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Write } from "../../table/writes.ts";
import { expectedMailbox, mailboxById, type FoundMailbox } from "./find.ts";
import { mailboxKey, mailboxKind, type Mailbox, type StoredMailbox } from "./mailbox.ts";
import { blockKeyOf, namedOf, renameWrite } from "./names.ts";
import { mailboxCore, mailboxViewsIn } from "./view.ts";

type Verb = (typeof mailboxKind.verbs)[number];

/** Reads the current state of a mailbox and its domain, for one transaction. Throws 404. */
export async function currentMailbox({ mailbox, domain }: FoundMailbox, { table }: Context): Promise<FoundMailbox> {
  const [now, home] = await Promise.all([
    mailboxById(table, domain.account_id, mailbox.id),
    domainById(table, domain.account_id, domain.id),
  ]);
  if (!now || !home) throw notFound();
  return { mailbox: now, domain: home };
}

/** The write that changes members of a mailbox, on condition that the mailbox is as it was read. */
export function mailboxUpdate(
  { account_id }: Pick<StoredDomain, "account_id">,
  mailbox: StoredMailbox,
  members: Partial<StoredMailbox>,
  at: string,
): { after: StoredMailbox; write: Write } {
  const { id, version } = mailbox;
  const after = { ...mailbox, ...members, updated_at: at, version: version + 1 };
  return { after, write: { put: { ...mailboxKey(account_id, id), ...after }, if: { id, version } } };
}

/** The items that `changeMailbox` reads for a change of the names. */
export function aheadOfRename(expected: Expected, accountId: string, ref: string): Ahead {
  const { keys, id, again } = expectedMailbox(expected, accountId, ref);
  const block = id === undefined ? undefined : blockKeyOf(accountId, id);
  return { keys: [...keys, ...(block ? [block] : [])], ...(again ? { again } : {}) };
}

/**
 * Changes members of a mailbox; writes nothing when it has them already. Throws 404, 409 `mailbox_not_ready`, and 412
 * if the mailbox has changed.
 */
export async function changeMailbox(
  found: FoundMailbox,
  members: { first_name?: string | undefined; last_name?: string | undefined; status?: "active" | "paused" },
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
    requireMovable(mailbox, given);
    const states = { before: mailboxCore(mailbox, domain), after: mailboxCore(next.after, domain) };
    const isRenamed = given["first_name"] !== undefined || given["last_name"] !== undefined;
    const names = isRenamed ? [await renameWrite(table, domain.account_id, namedOf(next.after, domain))] : [];
    return { value: shown, writes: [next.write, ...names], changes: [change(mailboxKind, verb, mailbox.id, states)] };
  });
}

/** Throws 409 `mailbox_not_ready` for a change of status, unless the mailbox is active or paused. */
function requireMovable({ status }: StoredMailbox, given: Record<string, unknown>): void {
  if (given["status"] === undefined || status === "active" || status === "paused") return;
  throw new Problem(
    "mailbox_not_ready",
    `The mailbox is ${status}. Only an active or paused mailbox can be paused or resumed.`,
    { mailbox_status: status },
  );
}
