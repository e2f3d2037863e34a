import type * as z from "zod";

import { createAccount, createClient, getClient, setAccountStatus } from "../../shared/access/operate-accounts.ts";
import { accountIds } from "../../shared/accounts/account.ts";
import { isOwner } from "../../shared/accounts/standing.ts";
import { getAccount } from "../../shared/accounts/visible.ts";
import { closeAccount } from "../../shared/billing/close.ts";
import { setAccountCurrency } from "../../shared/billing/currency.ts";
import { operatorCommit } from "../../shared/changes/recorder.ts";
import { mapConcurrently, allFulfilled } from "../../shared/core/concurrency.ts";
import { notFound } from "../../shared/core/errors.ts";
import { Id } from "../../shared/core/ids.ts";
import { AccountCurrency, defaultCurrency } from "../../shared/core/money.ts";
import { line } from "../../shared/core/text.ts";
import { clock } from "../../shared/core/time.ts";
import {
  getAssignment,
  getAssignments,
  planAssignments,
  planNewEnds,
  planRevocation,
} from "../../shared/grants/assignments.ts";
import { planSuperAdmin, readHeld, superAdminGrants } from "../../shared/grants/holders.ts";
import { MailAddress } from "../../shared/mail/forwarding/target.ts";
import type { Table } from "../../shared/table/table.ts";

/** Thrown for an invalid command line. The message gives the reason. */
export class Misuse extends Error {}

/** The option `--account` of commands that work in one account. */
export const accountOption = { description: "The account's id.", schema: Id };

/**
 * An option of a command. A switch has no value on the command line. `run` gets the value `true` for a switch that is
 * set.
 */
type CommandOption = { description: string; schema: z.ZodType<string | undefined>; isSwitch?: true };

/** One command of the operator: its options by name, and the function that runs the command. */
export type Command = {
  summary: string;
  options: Record<string, CommandOption>;
  /** The name of an option whose value may directly follow the command's name, without the option's name. */
  argument?: string;
  /**
   * Returns the lines that show an answer to people. By default, each member is one line. Each row of a list is one
   * line of JSON.
   */
  linesOf?: (answer: Record<string, unknown>) => string[];
  /**
   * Whether the command with these options uses the prices, the VAT or the features of the product. If so, the command
   * needs the option `--stage` for a deployed table.
   */
  needsStage?: (options: Record<string, string>) => boolean;
  run: (table: Table, options: Record<string, string>, location: TableLocation) => Promise<Record<string, unknown>>;
};

/**
 * The place of a table. `dataDir` is the data folder of a local table, and undefined for a deployed table. `open` opens
 * another table at the same place.
 */
export type TableLocation = { dataDir?: string; open: (name: string) => Table };

/** An option whose value is a name for people. */
const named = (description: string) => ({ description, schema: line({ most: 255, description }) });
const option = (options: Record<string, string>, name: string): string => options[name] ?? "";

/** Whether a command needs the prices of a stage. Only the default currency has prices on every stage. */
const needsPrices = (options: Record<string, string>): boolean =>
  (options["currency"] ?? defaultCurrency) !== defaultCurrency;

const user = { description: "The user's id. GET /v1/public/me with the user's token shows it as `id`.", schema: Id };

/**
 * Makes a user an owner of an account. The ownership has no end date. Does nothing if the user already has an ownership
 * without an end date. Checks only that the account exists, because the operator needs no permission.
 */
async function addOwner(table: Table, accountId: string, userId: string): Promise<Record<string, unknown>> {
  await getAccount(table, accountId);
  const subject = { type: "user" as const, id: userId };
  const now = clock();
  await operatorCommit(
    table,
    accountId,
    "owner add",
    now,
  )(async () => {
    const held = await readHeld(table, accountId, subject);
    if (held?.owner_grant_id !== undefined && held.owner_expires_at === undefined) {
      return { value: undefined, writes: [], changes: [] };
    }
    // If the user has an ownership whose end date is still to come, the ownership stays, without the end date. In all
    // other cases, the user gets a new ownership.
    if (held && isOwner(held, now.toISOString())) {
      const [owned] = await getAssignments(table, accountId, [held.owner_grant_id ?? ""]);
      if (owned) return { value: undefined, ...(await planNewEnds(table, accountId, [owned], undefined)) };
    }
    const author = { by: "operator", now };
    return {
      value: undefined,
      ...(await planAssignments(table, accountId, subject, [{ kind: "account_owner" }], author)),
    };
  });
  return { account_id: accountId, owner_id: userId };
}

async function removeOwner(table: Table, accountId: string, userId: string): Promise<Record<string, unknown>> {
  const now = clock();
  await operatorCommit(
    table,
    accountId,
    "owner remove",
    now,
  )(async () => {
    const held = await readHeld(table, accountId, { type: "user", id: userId });
    if (held?.owner_grant_id === undefined) throw notFound();
    const assignment = await getAssignment(table, accountId, held.owner_grant_id);
    return { value: undefined, ...(await planRevocation(table, accountId, [assignment], now)) };
  });
  return { account_id: accountId, removed_owner_id: userId };
}

/** The operator's mark in the list of marks that make a user a super admin. */
const operatorGrant = "operator";

async function addSuperAdmin(table: Table, userId: string): Promise<Record<string, unknown>> {
  const add = (grants: string[]) => [...new Set([...grants, operatorGrant])];
  const ends = { [operatorGrant]: undefined };
  await table.commit(async () => ({ value: undefined, writes: [await planSuperAdmin(table, userId, add, ends)] }));
  return { user_id: userId, is_super_admin: true };
}

/**
 * Takes all super admin rights from a user. First ends all rights, then revokes the grants that gave them, in all
 * accounts. The ids of the grants stay with the user until all grants are revoked. So if the process dies, a repeat
 * continues.
 */
async function removeSuperAdmin(table: Table, userId: string): Promise<Record<string, unknown>> {
  const now = clock();
  const ids = await table.commit(async () => {
    const grants = await superAdminGrants(table, userId);
    const ends = Object.fromEntries(grants.map((id) => [id, now.toISOString()]));
    return { value: grants, writes: [await planSuperAdmin(table, userId, () => grants, ends)] };
  });
  const accounts: string[] = [];
  if (ids.some((id) => id !== operatorGrant)) for await (const id of accountIds(table)) accounts.push(id);
  const results = await mapConcurrently(accounts, 8, (accountId) => revokeIn(table, accountId, ids, now));
  const revoked = allFulfilled(results).flat();
  const withoutThese = (grants: string[]) => grants.filter((id) => !ids.includes(id));
  await table.commit(async () => ({ value: undefined, writes: [await planSuperAdmin(table, userId, withoutThese)] }));
  return { user_id: userId, is_super_admin: false, revoked };
}

/** Revokes those grants of an account that have one of the ids. Returns the revoked grants. */
async function revokeIn(
  table: Table,
  accountId: string,
  ids: readonly string[],
  now: Date,
): Promise<{ account_id: string; grant_id: string }[]> {
  const commit = operatorCommit(table, accountId, "super-admin remove", now);
  const revoked: { account_id: string; grant_id: string }[] = [];
  // One grant in each transaction: every revocation changes the item of the user, and a transaction can change an item
  // only once.
  for (const { id } of await getAssignments(table, accountId, ids)) {
    await commit(async () => {
      const found = await getAssignments(table, accountId, [id]);
      return { value: undefined, ...(await planRevocation(table, accountId, found, now)) };
    });
    revoked.push({ account_id: accountId, grant_id: id });
  }
  return revoked;
}

const accountResult = ({
  id,
  name,
  status,
  currency,
  client,
}: Awaited<ReturnType<typeof getAccount>>): Record<string, unknown> => ({
  account_id: id,
  name,
  status,
  currency,
  client_id: client.id,
});

export const commands: Record<string, Command> = {
  "client create": {
    summary: "Register a client: the customer who owns accounts.",
    options: { name: named("The client's name.") },
    run: async (table, options) => {
      const client = await createClient(table, option(options, "name"));
      return { client_id: client.id, name: client.name };
    },
  },
  "account create": {
    summary: "Create an account for a client, with its first owner.",
    options: {
      client: { description: "The client's id.", schema: Id },
      name: named("The account's display name."),
      currency: {
        description:
          "The currency of the account's prices, wallet and invoices. The plans must have prices in this currency. By default USD.",
        schema: AccountCurrency.optional(),
      },
      owner: {
        description: "The first owner's user id. GET /v1/public/me with the user's token shows it as `id`.",
        schema: Id,
      },
      "owner-email": {
        description:
          "The first owner's e-mail address. Mails about the account go there until the owner uses the account.",
        schema: MailAddress.optional(),
      },
    },
    needsStage: needsPrices,
    run: async (table, options) => {
      const client = await getClient(table, option(options, "client"));
      const ownerId = option(options, "owner");
      const { currency, "owner-email": ownerEmail } = options;
      const input = { client, name: option(options, "name"), currency, ownerId, ownerEmail };
      const created = await createAccount(table, input, clock());
      return { ...accountResult(created), owner_id: ownerId };
    },
  },
  "account set-currency": {
    summary:
      "Change the currency of an account. The account must not have a movement, an invoice, a top-up or an automatic recharge yet.",
    options: {
      account: accountOption,
      currency: { description: "The currency. The plans must have prices in this currency.", schema: AccountCurrency },
    },
    needsStage: needsPrices,
    run: async (table, options) => {
      const [id, currency] = [option(options, "account"), option(options, "currency")];
      return accountResult(await setAccountCurrency(table, id, currency, clock()));
    },
  },
  "account show": {
    summary: "Show an account.",
    options: { account: accountOption },
    run: async (table, options) => accountResult(await getAccount(table, option(options, "account"))),
  },
  "owner add": {
    summary: "Make a user an owner of an account.",
    options: { account: accountOption, user },
    run: (table, options) => addOwner(table, option(options, "account"), option(options, "user")),
  },
  "owner remove": {
    summary: "Remove a user from an account's owners. The last owner cannot be removed.",
    options: { account: accountOption, user },
    run: (table, options) => removeOwner(table, option(options, "account"), option(options, "user")),
  },
  "super-admin add": {
    summary: "Make a user a super admin.",
    options: { user },
    run: (table, options) => addSuperAdmin(table, option(options, "user")),
  },
  "super-admin remove": {
    summary: "Take all super admin rights from a user, and revoke the grants of all accounts that gave these rights.",
    options: { user },
    run: (table, options) => removeSuperAdmin(table, option(options, "user")),
  },
  "account suspend": {
    summary: "Suspend an account. It can still be read, but most changes are refused.",
    options: { account: accountOption },
    run: async (table, options) =>
      accountResult(await setAccountStatus(table, option(options, "account"), "suspended", clock())),
  },
  "account close": {
    summary: "Close an account for good: make and charge its final invoices, and show its debts and its balance.",
    options: { account: accountOption },
    needsStage: () => true,
    run: async (table, options) => {
      const closed = await closeAccount(table, option(options, "account"), clock());
      return { ...accountResult(await getAccount(table, option(options, "account"))), ...closed };
    },
  },
  "account reopen": {
    summary: "Open a suspended account again.",
    options: { account: accountOption },
    run: async (table, options) =>
      accountResult(await setAccountStatus(table, option(options, "account"), "active", clock())),
  },
};
