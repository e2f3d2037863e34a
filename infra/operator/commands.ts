import * as z from "zod";

import { createAccount, createClient, getClient, setAccountStatus } from "../../shared/accounts/operate.ts";
import { getAccount } from "../../shared/accounts/visible.ts";
import { Problem } from "../../shared/errors.ts";
import { Id } from "../../shared/ids.ts";
import type { Table } from "../../shared/table/table.ts";

/** One thing an operator can do: its options by name, and what it answers. */
export type Command = {
  summary: string;
  options: Record<string, { description: string; schema: z.ZodType<string> }>;
  run: (table: Table, options: Record<string, string>) => Promise<Record<string, unknown>>;
};

const Name = z.string().trim().min(1).max(255);
const account = { description: "The account's id.", schema: Id };
const option = (options: Record<string, string>, name: string): string => options[name] ?? "";

const accountResult = ({
  id,
  name,
  status,
  client,
}: Awaited<ReturnType<typeof getAccount>>): Record<string, unknown> => ({
  account_id: id,
  name,
  status,
  client_id: client.id,
});

/** What may be reopened: a closed account stays closed. */
async function reopen(table: Table, accountId: string): Promise<Record<string, unknown>> {
  const { status } = await getAccount(table, accountId);
  if (status === "closed") throw new Problem("account_suspended", "A closed account cannot be opened again.");
  return accountResult(await setAccountStatus(table, accountId, "active", new Date()));
}

export const commands: Record<string, Command> = {
  "client create": {
    summary: "Register a client, the customer that accounts belong to.",
    options: { name: { description: "The client's name.", schema: Name } },
    run: async (table, options) => {
      const client = await createClient(table, option(options, "name"));
      return { client_id: client.id, name: client.name };
    },
  },
  "account create": {
    summary: "Create an account of a client with its first owner.",
    options: {
      client: { description: "The client's id.", schema: Id },
      name: { description: "The account's display name.", schema: Name },
      owner: { description: "The first owner's user id: the `id` that GET /v1/public/me shows them.", schema: Id },
    },
    run: async (table, options) => {
      const client = await getClient(table, option(options, "client"));
      const ownerId = option(options, "owner");
      const created = await createAccount(table, { client, name: option(options, "name"), ownerId }, new Date());
      return { ...accountResult(created), owner_id: ownerId };
    },
  },
  "account show": {
    summary: "Show an account.",
    options: { account },
    run: async (table, options) => accountResult(await getAccount(table, option(options, "account"))),
  },
  "account suspend": {
    summary: "Suspend an account: it can be read, not changed.",
    options: { account },
    run: async (table, options) =>
      accountResult(await setAccountStatus(table, option(options, "account"), "suspended", new Date())),
  },
  "account reopen": {
    summary: "Open a suspended account again.",
    options: { account },
    run: (table, options) => reopen(table, option(options, "account")),
  },
};
