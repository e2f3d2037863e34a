import { expect, test } from "vitest";

import { request } from "../../../support/request.ts";
import { newAccount, type Account } from "../../../support/world.ts";

const send = ({ id, owner }: Account, method: string, path = "", body?: unknown, { token } = owner) =>
  request(method, `/v1/public/accounts/${id}/auth/service-accounts${path}`, {
    token,
    ...(body === undefined ? {} : { body }),
  });

test("a renamed service account keeps its token, and its new name is in the list and the audit log", async () => {
  const account = await newAccount();
  const { token, ...made } = (await send(account, "POST", "", { name: "Backup" })).body;
  const renamed = await send(account, "PATCH", `/${made.id}`, { name: " Nightly backup " });
  expect(renamed).toMatchObject({ status: 200, body: { ...made, name: "Nightly backup" } });
  expect(renamed.body).not.toHaveProperty("token");
  expect((await request("GET", "/v1/public/me", { token })).status).toBe(200);
  expect((await send(account, "GET")).body).toEqual([expect.objectContaining({ name: "Nightly backup" })]);
  const log = await request("GET", `/v1/public/accounts/${account.id}/audit-log`, { token: account.owner.token });
  expect(log.body.items[0]).toMatchObject({
    event_type: "auth.service_account.updated",
    before: { name: "Backup" },
    after: { name: "Nightly backup" },
  });
});

test("a change to the present name writes no audit entry", async () => {
  const account = await newAccount();
  const { id } = (await send(account, "POST", "", { name: "Backup" })).body;
  const entries = () => request("GET", `/v1/public/accounts/${account.id}/audit-log`, { token: account.owner.token });
  const before = (await entries()).body.total;
  expect((await send(account, "PATCH", `/${id}`, { name: "Backup" })).status).toBe(200);
  expect((await entries()).body.total).toBe(before);
});

test("404 for a revoked service account and for another account's; 422 for an invalid name", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { id } = (await send(account, "POST", "", { name: "Backup" })).body;
  expect((await send(other, "PATCH", `/${id}`, { name: "Theirs" })).status).toBe(404);
  expect((await send(account, "PATCH", `/${id}`, { name: " " })).body.detail[0].loc).toEqual(["body", "name"]);
  await send(account, "DELETE", `/${id}`);
  expect((await send(account, "PATCH", `/${id}`, { name: "Late" })).status).toBe(404);
});
