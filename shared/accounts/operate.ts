import { randomUUID } from "node:crypto";

import * as z from "zod";

import { planAssignments } from "../auth/assignments.ts";
import { change } from "../changes/kind.ts";
import { operatorCommit } from "../changes/operator.ts";
import { notFound, Problem } from "../errors.ts";
import { appendRows, readList, removeRows, type ListState } from "../table/ranked-list.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import {
  accountKey,
  accountKind,
  clientKey,
  listsOf,
  type AccountClientSummary,
  type AccountStatus,
  type StoredAccount,
} from "./account.ts";
import { getAccount } from "./visible.ts";

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

/** The client, or 404. */
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
    const { writes, ordinals } = enlist(await readAll(table, listsOf(account)), id);
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

function placeIn({ id, ordinals }: StoredAccount, list: string): number {
  const ordinal = ordinals[list];
  if (ordinal === undefined) throw new Error(`Account ${id} does not say where it stands in the list ${list}.`);
  return ordinal;
}

/** Moves an account to another status, and to the lists of that status; nothing happens when it is there already. */
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
    if (account.status === status) return { value: account, writes: [], changes: [] };
    if (account.status === "closed") throw new Problem("account_closed", "A closed account stays closed.");
    const left = listsOf(account).slice(2);
    const leftStates = await Promise.all(
      left.map(async (list) => (await readList(table, list, [placeIn(account, list.name)])).state),
    );
    const { writes, ordinals } = enlist(await readAll(table, listsOf({ ...account, status }).slice(2)), accountId);
    const kept = Object.entries(account.ordinals).filter(([name]) => !left.some((list) => list.name === name));
    const changed: StoredAccount = {
      ...account,
      status,
      ordinals: { ...Object.fromEntries(kept), ...ordinals },
      updated_at: now.toISOString(),
      version: account.version + 1,
    };
    const removals = leftStates.flatMap((state) => removeRows(state, [placeIn(account, state.list.name)]));
    return {
      value: changed,
      writes: [
        { put: { ...accountKey(accountId), ...changed }, if: { version: account.version } },
        ...removals,
        ...writes,
      ],
      changes: [change(accountKind, "updated", accountId, { before: account, after: changed })],
    };
  });
}

const readAll = (table: Reader, lists: ReturnType<typeof listsOf>): Promise<ListState[]> =>
  Promise.all(lists.map(async (list) => (await readList(table, list)).state));

/** The writes that put an account at the end of lists, and the place it gets in each. */
function enlist(
  states: readonly ListState[],
  accountId: string,
): { writes: Write[]; ordinals: Record<string, number> } {
  return {
    writes: states.flatMap((state) => appendRows(state, [{ account_id: accountId }])),
    ordinals: Object.fromEntries(states.map((state) => [state.list.name, state.next])),
  };
}
