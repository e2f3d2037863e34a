import { expect, test } from "vitest";

import { request } from "../../support/request.ts";
import { newAccount, newMember } from "../../support/world.ts";

async function accountWithTwo() {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/workspaces`;
  const add = async (name: string): Promise<string> =>
    (await request("POST", path, { token: account.owner.token, body: { name } })).body.id;
  return { account, path, first: await add("First"), second: await add("Second") };
}

test("hides a workspace under the path of another account", async () => {
  const { first } = await accountWithTwo();
  const other = await newAccount();
  const answer = await request("GET", `/v1/public/accounts/${other.id}/workspaces/${first}`, {
    token: other.owner.token,
  });
  expect(answer.status).toBe(404);
});

test("answers 404 for an id whose ordinal exists but whose random part is wrong", async () => {
  const { account, path, first } = await accountWithTwo();
  const forged = `${first.slice(0, -1)}${first.endsWith("0") ? "1" : "0"}`;
  expect((await request("GET", `${path}/${forged}`, { token: account.owner.token })).status).toBe(404);
  expect((await request("GET", `${path}/${account.id}`, { token: account.owner.token })).status).toBe(404);
});

test("hides a workspace that a narrow grant does not cover, as if it did not exist", async () => {
  const { account, path, first, second } = await accountWithTwo();
  const member = await newMember(account, { capability: "workspace.view", scope: { type: "workspace", id: first } });
  expect((await request("GET", `${path}/${first}`, { token: member.token })).status).toBe(200);
  const hidden = await request("GET", `${path}/${second}`, { token: member.token });
  const missing = await request("GET", `${path}/${account.id}`, { token: member.token });
  expect(hidden.status).toBe(404);
  expect({ ...hidden.body, request_id: "" }).toEqual({ ...missing.body, request_id: "" });
});
