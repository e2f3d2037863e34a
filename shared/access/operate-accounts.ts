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
import { change } from "../changes/kind.ts";
import { operatorCommit } from "../changes/recorder.ts";
import { notFound } from "../core/errors.ts";
import { planAssignments } from "../grants/assignments.ts";
import { readHeads } from "../table/ranked-list.ts";
import type { Reader, Table } from "../table/table.ts";

type Client = z.output<typeof AccountClientSummary>;

const StoredClient = z.object({ id: z.string(), name: z.string() });

/** Registers a client, the customer that accounts belong to. */
export async function createClient(table: Table, name: string): Promise<Client> {
  const client = { id: randomUUID(), name };
  return table.commit(async () => ({
    value: client,
    writes: [{ put: { ...clientKey(client.id), ...client }, if: "absent" }],
  }));
}

/** The client. Throws 404. */
export async function getClient(table: Reader, clientId: string): Promise<Client> {
  const client = await table.get(clientKey(clientId), StoredClient);
  if (!client) throw notFound();
  return client;
}

/** Creates an active account with its first owner, all in one transaction. */
export async function createAccount(
  table: Table,
  input: { id?: string; client: Client; name: string; ownerId: string },
  now: Date,
): Promise<StoredAccount> {
  const id = input.id ?? randomUUID();
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
      created_at: at,
      updated_at: at,
    };
    const { writes, ordinals } = enlist(await readHeads(table, listsOf(account)), id);
    const stored: StoredAccount = { ...account, ordinals, version: 1 };
    const subject = { type: "user" as const, id: input.ownerId };
    const owner = await planAssignments(table, id, subject, [{ kind: "account_owner" }], { by: "operator", now });
    return {
      value: stored,
      writes: [{ put: { ...accountKey(id), ...stored }, if: "absent" }, ...writes, ...owner.writes],
      changes: [change(accountKind, "created", id, { after: stored }), ...owner.changes],
    };
  });
}

/**
 * Moves an account to another status. If it has that status already nothing happens, except that a suspension becomes
 * the operator's own, which a payment does not lift.
 */
export async function setAccountStatus(
  table: Table,
  accountId: string,
  status: AccountStatus,
  now: Date,
): Promise<StoredAccount> {
  return operatorCommit(
    table,
    accountId,
    `account ${status}`,
    now,
  )(async () => {
    const account = await getAccount(table, accountId);
    if (account.status !== status || status !== "suspended") return planAccountStatus(table, account, status, now);
    const kept = { ...account, updated_at: now.toISOString(), version: account.version + 1 };
    return {
      value: kept,
      writes: [{ put: { ...accountKey(accountId), ...kept }, if: { version: account.version } }],
      changes: [change(accountKind, "updated", accountId, { before: account, after: kept })],
    };
  });
}
