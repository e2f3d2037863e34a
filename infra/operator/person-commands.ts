import { domainToASCII, domainToUnicode } from "node:url";

import * as z from "zod";

import { invitationKey } from "../../shared/access/invitations/invitation.ts";
import { accountIds } from "../../shared/accounts/account.ts";
import { getAccount } from "../../shared/accounts/visible.ts";
import { Id } from "../../shared/core/ids.ts";
import { clock } from "../../shared/core/time.ts";
import { readHolder, type StoredHolder } from "../../shared/domains/holder.ts";
import { deletedMailboxesOf } from "../../shared/mail/mailboxes/deleted.ts";
import { mailboxesByIds, mailboxesOfRows } from "../../shared/mail/mailboxes/lookup.ts";
import { addressKey, StoredAddress, type StoredMailbox } from "../../shared/mail/mailboxes/mailbox.ts";
import { rangeOfRows } from "../../shared/table/ranked-list.ts";
import { pagesOf, rowsInPartition } from "../../shared/table/reads.ts";
import type { Reader, Table } from "../../shared/table/table.ts";
import type { Item, Write } from "../../shared/table/writes.ts";
import type { Command } from "./commands.ts";
import {
  type DataSubject,
  erasureOf,
  isOwnRow,
  kindOf,
  namingMembers,
  accountDataKind,
  ownAddresses,
  ownAddressMembers,
} from "./person-rows.ts";

const partitionOf = (accountId: string): string => `ACCOUNT#${accountId}`;

async function accountsAmong(table: Table, accountId: string | undefined): Promise<string[]> {
  if (accountId !== undefined) return [(await getAccount(table, accountId)).id];
  const ids: string[] = [];
  for await (const id of accountIds(table)) ids.push(id);
  return ids;
}

type PersonOptions = Record<string, string | undefined>;

/** The spellings of an address: as given, and with the domain in A-labels and in U-labels. All are in lower case. */
function spellingsOf(email: string): string[] {
  const given = email.toLowerCase();
  const [local = "", domain = ""] = given.split("@");
  // Both functions return an empty text if `domain` is not a domain name.
  const domains = [domainToASCII(domain), domainToUnicode(domain)].filter((one) => one !== "");
  return [given, ...domains.map((one) => `${local}@${one}`)];
}

/** The person that the options name. With `user`, adds the addresses in the user's own rows. */
async function findPerson(table: Table, ids: readonly string[], { user, email }: PersonOptions): Promise<DataSubject> {
  if (user === undefined && email === undefined) throw new Error("Give --user or --email.");
  const emails = new Set(email === undefined ? [] : spellingsOf(email));
  if (user === undefined) return { userId: undefined, emails };
  for (const id of ids) {
    for await (const row of rowsInPartition(table, partitionOf(id))) {
      for (const address of ownAddresses(row, user).flatMap(spellingsOf)) emails.add(address);
    }
  }
  return { userId: user, emails };
}

/** Yields the rows of an account that name the person. */
async function* rowsAbout(table: Reader, accountId: string, person: DataSubject): AsyncGenerator<Item> {
  for await (const row of rowsInPartition(table, partitionOf(accountId)))
    if (namingMembers(row, person) !== undefined) yield row;
}

/** The members of the person's own rows that an export leaves out: secrets, other people's data and internal data. */
const internal = new Set([
  "PK",
  "SK",
  "version",
  "ttl",
  "token_hash",
  "inviter",
  "inviter_groups",
  "lease_until",
  "place_in_account",
  "place_in_all",
  "place_of_submitter",
  "listed_at",
  "ordinal",
  "profile_at",
]);

const withoutInternal = (row: Item): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !internal.has(name)));

/**
 * The part of a row that an export contains. Of the person's own rows, the export contains everything except
 * `internal`. Another row may have other people's data or secrets of the account. So of this row, the export contains
 * only the parts that name the person.
 */
function exported(row: Item, person: DataSubject): Record<string, unknown> {
  const { what } = kindOf(row.SK);
  if (isOwnRow(row, person)) return { what, data: withoutInternal(row) };
  const { SK: _, ...data } = namingMembers(row, person) ?? {};
  return { what, data };
}

/** The mailboxes that have the address `local` in a domain, and the deleted mailboxes that had this address. */
async function mailboxesAt(
  table: Reader,
  { account_id, domain_id }: StoredHolder,
  local: string,
): Promise<StoredMailbox[]> {
  const address = await table.get(addressKey(account_id, domain_id, local), StoredAddress);
  const found = address ? await mailboxesByIds(table, account_id, [address.mailbox_id]) : [];
  for await (const rows of pagesOf(table, rangeOfRows(deletedMailboxesOf(account_id)))) {
    const had = mailboxesOfRows(rows).filter(
      (one) => one.domain_id === domain_id && [one.local_part, ...one.aliases].includes(local),
    );
    found.push(...had);
  }
  return found;
}

/**
 * The mailboxes with the person's addresses in some accounts, and the deleted mailboxes that are not purged yet. These
 * mailboxes are found separately, because their rows do not contain the whole address.
 */
async function mailboxesOfPerson(
  table: Reader,
  ids: readonly string[],
  { emails }: DataSubject,
): Promise<Record<string, unknown>[]> {
  const found = await Promise.all(
    [...emails].map(async (email) => {
      const [local = "", domain = ""] = email.split("@");
      const holder = await readHolder(table, domain);
      if (holder === undefined || !ids.includes(holder.account_id)) return [];
      const { account_id } = holder;
      const mailboxes = await mailboxesAt(table, holder, local);
      return mailboxes.map(({ id, first_name, last_name }) => ({
        account_id,
        what: "mailbox",
        data: { id, email, first_name, last_name },
      }));
    }),
  );
  return found.flat();
}

/** Gathers the data about a person in the table (GDPR articles 15 and 20). */
async function exportPerson(table: Table, options: PersonOptions): Promise<Record<string, unknown>> {
  const ids = await accountsAmong(table, options["account"]);
  const person = await findPerson(table, ids, options);
  const found: Record<string, unknown>[] = [];
  for (const id of ids)
    for await (const row of rowsAbout(table, id, person)) found.push({ account_id: id, ...exported(row, person) });
  found.push(...(await mailboxesOfPerson(table, ids, person)));
  const own: Record<string, unknown>[] = [];
  // The user's rows outside the accounts name all accounts of the user. So the export of one account leaves them out.
  if (person.userId !== undefined && options["account"] === undefined)
    for await (const row of rowsInPartition(table, `USER#${person.userId}`))
      if (!row.SK.endsWith("#HEAD")) own.push({ what: "user", data: withoutInternal(row) });
  return {
    user_id: person.userId ?? null,
    emails: [...person.emails],
    searched_accounts: ids.length,
    user: own,
    found,
  };
}

/** Whether an invitation can still be accepted. An erasure keeps the address of a pending invitation. */
const isPending = ({ state, expires_at }: Item): boolean =>
  state === "pending" && String(expires_at) > clock().toISOString();

/** Whether the last invitation of an address can still be accepted. The row of the address names the invitation. */
async function pointsToPending(table: Reader, { PK: partition, id }: Item): Promise<boolean> {
  const [invitation] = await table.getMany([invitationKey(partition.slice("ACCOUNT#".length), String(id))]);
  return invitation !== undefined && isPending(invitation);
}

/**
 * What an erasure does with a row of the kind `what`: the write that erases the person, or the reason to keep the row.
 */
type Step = { what: string; write?: Write; kept?: string };

/**
 * The step of the erasure for a row that names the person. The step does not change the members `except`. Undefined if
 * the row has nothing to erase.
 */
async function stepFor(
  table: Reader,
  row: Item,
  person: DataSubject,
  except: readonly string[],
): Promise<Step | undefined> {
  const { what, kept } = kindOf(row.SK);
  if (kept !== undefined) return { what, kept };
  const key = { PK: row.PK, SK: row.SK };
  if (what === "last invitation of an address")
    return (await pointsToPending(table, row)) ? undefined : { what, write: { delete: key } };
  if (what === "invitation" && isPending(row))
    return { what, kept: "The invitation can still be accepted. Revoke it, and run the command again with --email." };
  const { set, remove } = erasureOf(row, person, except);
  if (Object.keys(set).length === 0 && remove.length === 0) return undefined;
  const { version } = row;
  const removed = remove.length > 0 ? { remove } : {};
  if (typeof version !== "number") return { what, write: { update: key, set, ...removed, if: "present" } };
  // The version rises. So a process that read the row before the erasure cannot write the former row back.
  return { what, write: { update: key, set: { ...set, version: version + 1 }, ...removed, if: { version } } };
}

const count = (counts: Map<string, number>, name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1);

const listed = (counts: Map<string, number>, name: string) =>
  [...counts].map(([text, rows]) => ({ [name]: text, rows }));

/**
 * Erases a person. Without the option `confirm`, only lists the rows that would be erased. Every row is a separate
 * write, so an interrupted command can be run again. The addresses in the user's own rows are erased last. So a further
 * run finds all addresses until nothing else is left to erase. The user's id stays. When the identity provider has
 * deleted the user, the id leads to no person.
 */
async function erasePerson(table: Table, options: PersonOptions): Promise<Record<string, unknown>> {
  const { user, email, confirm } = options;
  if (confirm !== undefined && confirm !== (user ?? email))
    throw new Error("--confirm must have the same value as --user. Without --user, it must have the value of --email.");
  const isDry = confirm === undefined;
  const ids = await accountsAmong(table, options["account"]);
  const person = await findPerson(table, ids, options);
  const erased = new Map<string, number>();
  const kept = new Map<string, number>();
  const passes = isDry || user === undefined ? ["all"] : ["all but own addresses", "all"];
  for (const pass of passes) {
    for (const id of ids) {
      for await (const row of rowsAbout(table, id, person)) {
        const except = pass === "all" ? [] : ownAddressMembers(row, user);
        const step = await stepFor(table, row, person, except);
        if (pass === "all" && step?.kept !== undefined) count(kept, `${step.what} in account ${id}: ${step.kept}`);
        if (step?.write === undefined) continue;
        const { done } = isDry ? { done: true } : await table.attempt(step.write);
        if (!done) throw new Error(`A row of account ${id} changed during the erasure. Run the command again.`);
        // The last pass changes a row with the user's own addresses again, and counts the row.
        if (except.length === 0) count(erased, `${step.what} in account ${id}`);
      }
    }
  }
  for (const { account_id: id } of await mailboxesOfPerson(table, ids, person))
    count(kept, `mailbox in account ${String(id)}: ${accountDataKind.kept}`);
  return {
    dry_run: isDry,
    emails: [...person.emails],
    searched_accounts: ids.length,
    [isDry ? "would_erase" : "erased"]: listed(erased, "what"),
    kept: listed(kept, "why"),
  };
}

const personOptions = {
  user: { description: "The user's id.", schema: Id.optional() },
  email: {
    description: "An e-mail address of the person.",
    schema: z
      .string()
      .regex(/^[^@\s]+@[^@\s]+$/, { error: "Write an e-mail address" })
      .optional(),
  },
  account: {
    description: "Only this account. By default all accounts, which reads the whole table.",
    schema: Id.optional(),
  },
};

/** The operator's commands for the rights of a person (GDPR articles 15, 17 and 20). */
export const personCommands: Record<string, Command> = {
  "person export": {
    summary: "Export the stored data about a person (GDPR articles 15 and 20). Use --json.",
    options: personOptions,
    run: exportPerson,
  },
  "person erase": {
    summary: "Erase a person (GDPR article 17). Without --confirm, only lists the rows to erase and to keep.",
    options: {
      ...personOptions,
      confirm: {
        description: "Erases the person. Repeat the value of --user, or without --user the value of --email.",
        schema: z.string().optional(),
      },
    },
    run: erasePerson,
  },
};
