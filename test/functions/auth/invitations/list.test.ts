import { expect, test } from "vitest";

import { invitationKey } from "../../../../shared/access/invitations/invitation.ts";
import { asOwner } from "../../../support/auth.ts";
import { stranger } from "../../../support/forwarding.ts";
import { accepting, invited } from "../../../support/invitations.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newMember, newUser, testTable } from "../../../support/world.ts";

const viewing = { roles: [{ role_key: "viewer" }] };

test("lists the invitations of the account with their status, oldest first or newest first", async () => {
  const account = await newAccount();
  const email = stranger();
  const used = await invited(account, { email, ...viewing });
  await accepting(used, newUser({ email }));
  const revoked = await invited(account, { email: stranger(), ...viewing });
  await asOwner(account, "DELETE", `invitations/${revoked.id}`);
  const open = await invited(account, { email: stranger(), account_owner: true });
  const { items, total } = await asOwner(account, "GET", "invitations");
  expect(items.map(({ id, status }: { id: string; status: string }) => [id, status])).toEqual([
    [used.id, "accepted"],
    [revoked.id, "revoked"],
    [open.id, "pending"],
  ]);
  expect(total).toBe(3);
  expect((await asOwner(account, "GET", "invitations?order=desc&page_size=1")).items).toMatchObject([{ id: open.id }]);
  expect((await asOwner(await newAccount(), "GET", "invitations")).total).toBe(0);
});

test("filters by status, and counts a pending invitation as expired after its end", async () => {
  const account = await newAccount();
  const revoked = await invited(account, { email: stranger(), ...viewing });
  await asOwner(account, "DELETE", `invitations/${revoked.id}`);
  const [first, second] = [
    await invited(account, { email: stranger(), ...viewing }),
    await invited(account, { email: stranger(), ...viewing }),
  ];
  const ended = await invited(account, { email: stranger(), ...viewing });
  await testTable().attempt({
    update: invitationKey(account.id, ended.id),
    set: { expires_at: "2020-01-01T00:00:00.000Z" },
  });
  const listed = async (query: string) => {
    const { items, total } = await asOwner(account, "GET", `invitations?${query}`);
    return [items.map(({ id }: { id: string }) => id), total];
  };
  expect(await listed("status=pending")).toEqual([[first.id, second.id], 2]);
  expect(await listed("status=pending&order=desc&page_size=1")).toEqual([[second.id], 2]);
  expect(await listed("status=pending&page=2&page_size=1")).toEqual([[second.id], 2]);
  expect(await listed("status=expired")).toEqual([[ended.id], 1]);
  expect(await listed("status=revoked")).toEqual([[revoked.id], 1]);
  expect(await listed("status=accepted")).toEqual([[], 0]);
  await expect(asOwner(account, "GET", "invitations?status=open")).rejects.toThrow(`"loc":["query","status"]`);
});

test("refuses to filter more than 20,000 invitations, and still lists them without a status", async () => {
  const account = await newAccount();
  const { id } = await invited(account, { email: stranger(), ...viewing });
  const head = { PK: `ACCOUNT#${account.id}`, SK: "LIST#invitations#HEAD" };
  await testTable().attempt({ update: head, set: { next: 20_001, live: 20_001 }, if: "present" });
  const { token } = account.owner;
  const list = (query: string) =>
    request("GET", `/v1/public/accounts/${account.id}/auth/invitations?${query}`, { token });
  const { status, body } = await list("status=pending");
  expect([status, body.detail]).toEqual([
    422,
    [{ loc: ["query", "status"], msg: expect.stringContaining("20,000 invitations"), type: "too_broad" }],
  ]);
  expect((await list("page_size=1")).body).toMatchObject({ items: [{ id }], total: 20_001 });
});

test("needs auth.manage", async () => {
  const account = await newAccount();
  const { token } = await newMember(account, { role: "manager" });
  expect((await request("GET", `/v1/public/accounts/${account.id}/auth/invitations`, { token })).status).toBe(403);
});
