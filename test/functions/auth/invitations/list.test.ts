import { expect, test } from "vitest";

import { asOwner } from "../../../support/auth.ts";
import { stranger } from "../../../support/forwarding.ts";
import { accepting, invited } from "../../../support/invitations.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newMember, newUser } from "../../../support/world.ts";

const viewing = { roles: [{ role_key: "viewer" }] };

test("lists the invitations of the account with their states, newest last or first", async () => {
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

test("is for those who manage access", async () => {
  const account = await newAccount();
  const { token } = await newMember(account, { role: "manager" });
  expect((await request("GET", `/v1/public/accounts/${account.id}/auth/invitations`, { token })).status).toBe(403);
});
