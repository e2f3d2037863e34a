import { randomUUID } from "node:crypto";

import * as z from "zod";

import {
  accountKey,
  accountKind,
  clientKey,
  listsOf,
  type AccountClientSummary,
  type AccountStatus,
  type StoredAccount,
} from "../accounts/account.ts";
import { enlist, planAccountStatus } from "../accounts/status.ts";
import { getAccount } from "../accounts/visible.ts";
import { closeAccount } from "../billing/close.ts";
import { requireOffered } from "../billing/currency.ts";
import { firstClosing } from "../billing/due.ts";
import { change } from "../changes/kind.ts";
import { operatorCommit } from "../changes/recorder.ts";
import { notFound } from "../core/errors.ts";
import { defaultCurrency } from "../core/money.ts";
import { dayOf } from "../core/time.ts";
import { planAssignments } from "../grants/assignments.ts";
import { readHeads } from "../table/ranked-list.ts";
import type { Reader, Table } from "../table/table.ts";
import { BillingState, stateKey } from "../wallet/state.ts";

type Client = z.output<typeof AccountClientSummary>;

const StoredClient = z.object({ id: z.string(), name: z.string() });

/** Creates a client. A client is a customer that owns accounts. */
export async function createClient(table: Table, name: string): Promise<Client> {
  const client = { id: randomUUID(), name };
  return table.commit(async () => ({
    value: client,
    writes: [{ put: { ...clientKey(client.id), ...client }, if: "absent" }],
  }));
}

/** Reads a client. Throws 404 if there is no such client. */
export async function getClient(table: Reader, clientId: string): Promise<Client> {
  const client = await table.get(clientKey(clientId), StoredClient);
  if (!client) throw notFound();
  return client;
}

/** An account to create. `ownerEmail` is for the mails to the owner. */
type NewAccount = {
  id?: string;
  client: Client;
  name: string;
  currency?: string | undefined;
  ownerId: string;
  ownerEmail?: string | undefined;
};

/**
 * Creates an active account with its first owner, in one transaction. Throws if the plans of this deployment have no
 * prices in the currency.
 */
export async function createAccount(table: Table, input: NewAccount, now: Date): Promise<StoredAccount> {
  const { id = randomUUID(), currency = defaultCurrency } = input;
  requireOffered(currency, dayOf(now));
  return operatorCommit(
    table,
    id,
    "account create",
    now,
  )(async () => {
    const at = now.toISOString();
    const account = {
      id,
      name: input.name,
      client: input.client,
      status: "active" as const,
      currency,
      created_at: at,
      updated_at: at,
    };
    const { writes, ordinals } = enlist(await readHeads(table, listsOf(account)), id);
    const stored: StoredAccount = { ...account, ordinals, version: 1 };
    const subject = { type: "user" as const, id: input.ownerId };
    const author = { by: "operator", now };
    const profile = input.ownerEmail === undefined ? {} : { email: input.ownerEmail };
    const owner = await planAssignments(table, id, subject, [{ kind: "account_owner" }], author, profile);
    return {
      value: stored,
      writes: [
        { put: { ...accountKey(id), ...stored }, if: "absent" },
        firstClosing(id, dayOf(now)),
        ...writes,
        ...owner.writes,
      ],
      changes: [change(accountKind, "created", id, { after: stored }), ...owner.changes],
    };
  });
}

/** The part of the billing state that tells which suspension billing made. */
const SuspendedVersion = BillingState.pick({ suspended_version: true });

/**
 * Moves an account to another status. For `closed` see `closeAccount`. Otherwise nothing changes if the account has the
 * status already. The only exception is an account that billing suspended for a debt: if the operator suspends it too,
 * `updated_at` changes, and the suspension becomes the operator's. A payment does not lift a suspension by the
 * operator. Throws:
 * - 404 if there is no such account;
 * - 409 `account_closed` if the account is closed, and `status` is another status.
 */
export async function setAccountStatus(
  table: Table,
  accountId: string,
  status: AccountStatus,
  now: Date,
): Promise<StoredAccount> {
  if (status === "closed") {
    await closeAccount(table, accountId, now);
    return getAccount(table, accountId);
  }
  return operatorCommit(
    table,
    accountId,
    `account ${status}`,
    now,
  )(async () => {
    // Billing changes the state and the account in one transaction. The state is read first. So if a payment lifts the
    // suspension between the two reads, the account is read as active, and is suspended.
    const isSuspending = status === "suspended";
    const billing = isSuspending ? await table.get(stateKey(accountId), SuspendedVersion) : undefined;
    const account = await getAccount(table, accountId);
    // An earlier version of the product suspended accounts without a `debt`.
    const isForDebt = account.debt !== undefined || billing?.suspended_version === account.version;
    const becomesOwn = isSuspending && account.status === "suspended" && isForDebt;
    if (!becomesOwn) return planAccountStatus(table, account, status, now);
    const { debt: _, ...rest } = account;
    const kept = { ...rest, updated_at: now.toISOString(), version: account.version + 1 };
    return {
      value: kept,
      writes: [{ put: { ...accountKey(accountId), ...kept }, if: { version: account.version } }],
      changes: [change(accountKind, "updated", accountId, { before: account, after: kept })],
    };
  });
}
