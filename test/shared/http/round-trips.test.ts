import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { request } from "../../support/request.ts";
import { countTrips } from "../../support/trips.ts";
import {
  grant,
  newAccount,
  newMember,
  newServiceAccount,
  newSuperAdmin,
  newUser,
  type User,
} from "../../support/world.ts";

/** An account with a workspace, and a group whose members may manage workspaces. */
async function scene() {
  const account = await newAccount();
  const base = `/v1/public/accounts/${account.id}`;
  const send = (method: string, path: string, { token }: User, body?: unknown) =>
    request(method, `${base}${path}`, { token, body });
  const workspace = await send("POST", "/workspaces", account.owner, { name: "Sales" });
  return { account, base, send, id: String(workspace.body.id) };
}
type Scene = Awaited<ReturnType<typeof scene>>;

async function groupMember({ account, send }: Scene): Promise<User> {
  const group = await send("POST", "/auth/groups", account.owner, { name: "Staff" });
  const given = { role_key: "manager", subject_type: "group", subject_id: group.body.id };
  await send("POST", "/auth/role-assignments", account.owner, given);
  const user = newUser();
  const member = { subject_type: "user", subject_id: user.id };
  await send("POST", `/auth/groups/${String(group.body.id)}/members`, account.owner, member);
  return user;
}

const callers: Record<string, (scene: Scene) => Promise<User>> = {
  "an owner": async ({ account }) => account.owner,
  "a member with a grant for the account": async ({ account }) =>
    newMember(account, { capability: "workspace.view" }, { capability: "workspace.manage" }),
  "a member with a grant for one workspace": async ({ account, id }) =>
    newMember(
      account,
      { capability: "workspace.view", scope: { type: "workspace", id } },
      { capability: "workspace.manage", scope: { type: "workspace", id } },
    ),
  "a member of a group": groupMember,
  "a service account": async ({ account }) =>
    newServiceAccount(account, { capability: "workspace.view" }, { capability: "workspace.manage" }),
  "a super admin": async () => newSuperAdmin(),
};

test.each(Object.entries(callers))(
  "%s whom the process has seen gets and lists in one round trip, and changes in two",
  async (name, callerIn) => {
    const made = await scene();
    const caller = await callerIn(made);
    const trips = async (method: string, path: string, body?: unknown) => {
      const { value, trips } = await countTrips(() => made.send(method, path, caller, body));
      expect(value.status).toBeLessThan(300);
      return trips;
    };
    await trips("GET", `/workspaces/${made.id}`);
    await trips("GET", "/workspaces");
    expect(await trips("GET", `/workspaces/${made.id}`)).toBe(1);
    expect(await trips("GET", "/workspaces")).toBe(1);
    expect(await trips("PATCH", `/workspaces/${made.id}`, { name: "Renamed" })).toBe(2);
    if (!name.includes("one workspace")) expect(await trips("POST", "/workspaces", { name: "New" })).toBe(2);
  },
);

test("a service account whose token is revoked meanwhile gets a 401, whatever it asks for", async () => {
  const { account, send, id, base } = await scene();
  const created = await send("POST", "/auth/service-accounts", account.owner, { name: "Program" });
  const program = { id: String(created.body.id), token: String(created.body.token) };
  await grant(account, program);
  const given = { role_key: "viewer", subject_type: "service_account", subject_id: program.id };
  await send("POST", "/auth/role-assignments", account.owner, given);
  expect((await send("GET", `/workspaces/${id}`, program)).status).toBe(200);
  await send("DELETE", `/auth/service-accounts/${program.id}`, account.owner);
  const asked = [
    send("GET", `/workspaces/${id}`, program),
    send("GET", "/workspaces?page=none", program),
    request("POST", `${base}/workspaces`, { token: program.token, body: "{" }),
    send("GET", `/workspaces/${randomUUID()}`, program),
  ];
  for (const { status, body } of await Promise.all(asked)) {
    expect([status, body.code]).toEqual([401, "token_revoked"]);
  }
});
