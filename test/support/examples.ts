import { request } from "./request.ts";
import type { Account } from "./world.ts";

/** A valid call of a route in an account: flat arguments by name, as code mode takes them. */
export type Example = Record<string, unknown>;

async function newWorkspaceId({ id, owner }: Account): Promise<string> {
  const name = "Example";
  const created = await request("POST", `/v1/public/accounts/${id}/workspaces`, { token: owner.token, body: { name } });
  return String(created.body.id);
}

/** How to call each route so that it succeeds for the account's owner. A route without an entry fails the shared tests. */
export const examples: Record<string, (account: Account) => Promise<Example>> = {
  "accounts.list": async () => ({}),
  "accounts.get": async ({ id }) => ({ account_id: id }),
  "me.get": async () => ({}),
  "workspaces.list": async ({ id }) => ({ account_id: id, page: 1, page_size: 10 }),
  "workspaces.add": async ({ id }) => ({ account_id: id, name: "Sales" }),
  "workspaces.get": async (account) => ({ account_id: account.id, workspace_id: await newWorkspaceId(account) }),
  "workspaces.update": async (account) => ({
    account_id: account.id,
    workspace_id: await newWorkspaceId(account),
    name: "Renamed",
  }),
  "workspaces.delete": async (account) => ({ account_id: account.id, workspace_id: await newWorkspaceId(account) }),
};
