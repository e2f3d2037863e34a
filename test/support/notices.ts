import { randomUUID } from "node:crypto";

import { accessKey } from "../../shared/accounts/standing.ts";
import { changeJournalOf, eventOf, StoredChange } from "../../shared/changes/record.ts";
import { timeOrderedId } from "../../shared/core/ids.ts";
import { createLog } from "../../shared/core/log.ts";
import { NoticeEvent } from "../../shared/notices/notice.ts";
import type { NoticeWork } from "../../shared/notices/send.ts";
import { outbox, type OutboxMail } from "../../shared/providers/mail/embedded.ts";
import { mailHere } from "../../shared/providers/mail/factory.ts";
import { readEntries } from "../../shared/table/journal.ts";
import { write } from "./domain-work.ts";
import { stranger } from "./forwarding.ts";
import { newAccount, newMember, newUser, testTable, type Account, type User } from "./world.ts";

/** Stores the e-mail address of a user in an account, as the user's requests do. */
export const knowEmail = (account: Pick<Account, "id">, user: Pick<User, "id">, email: string): Promise<void> =>
  write({ update: accessKey(account.id, { type: "user", id: user.id }), set: { email } });

/** Makes an account whose owner has an address. */
export async function accountWithAddress(
  name = "Initech",
  address = stranger("owner"),
): Promise<{ account: Account; address: string }> {
  const account = await newAccount({ name, owner: newUser({ email: address }) });
  await knowEmail(account, account.owner, address);
  return { account, address };
}

/** Adds an owner with an address to an account. */
export async function ownerAt(account: Account, address: string): Promise<User> {
  const owner = await newMember(account, { owner: true });
  await knowEmail(account, owner, address);
  return owner;
}

/** The context of the worker that sends notices, at a given time. */
export function noticeWork(at = new Date(), others: Partial<NoticeWork> = {}): NoticeWork {
  const now = (): Date => at;
  const table = testTable();
  return { table, mail: mailHere(table, now), now, log: createLog("silent", {}), ...others };
}

/** An event of an account in the form of the bus. */
export const eventFor = (account: Pick<Account, "id">, type: string, more: Partial<NoticeEvent> = {}): NoticeEvent => {
  const at = new Date();
  return NoticeEvent.parse({
    id: timeOrderedId(at),
    type,
    timestamp: at.toISOString(),
    account_id: account.id,
    actor: { type: "system", id: "test" },
    resource: { id: randomUUID() },
    ...more,
  });
};

/** The event of an account that becomes past due. */
export const pastDue = (account: Pick<Account, "id">, more: Partial<NoticeEvent> = {}): NoticeEvent =>
  eventFor(account, "account.updated", { data: { status: "past_due" }, previous_data: { status: "active" }, ...more });

/** The events of some types from an account's changes, oldest first. */
export async function eventsOf(account: Pick<Account, "id">, ...types: string[]): Promise<NoticeEvent[]> {
  const keep = ({ type }: Record<string, unknown>): boolean => types.includes(String(type));
  const { rows } = await readEntries(
    testTable(),
    changeJournalOf(account.id),
    { skip: 0, take: 100, keep },
    new Date(),
  );
  return rows.toReversed().map((row) => NoticeEvent.parse(eventOf(StoredChange.parse(row))));
}

/** The mails to an address, oldest first. */
export const noticesTo = async (address: string): Promise<OutboxMail[]> =>
  (await outbox(testTable(), { to: address })).toReversed();
