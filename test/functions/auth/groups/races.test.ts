import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { asOwner, join, newGroup } from "../../../support/auth.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newServiceAccount, newUser, type Account } from "../../../support/world.ts";

const path = ({ id }: Account, rest: string): string => `/v1/public/accounts/${id}/auth/groups${rest}`;

test("after a group is deleted, no user who was added at the same moment is still a member of the account", async () => {
  for (let round = 0; round < 4; round++) {
    const account = await newAccount();
    const group = await newGroup(account, "Going");
    const users = Array.from({ length: 12 }, () => newUser());
    const { token } = account.owner;
    const joins = users.map(({ id: subject_id }) =>
      request("POST", path(account, `/${group.id}/members`), { token, body: { subject_id, subject_type: "user" } }),
    );
    const [gone, ...answers] = await Promise.all([
      request("DELETE", path(account, `/${group.id}`), { token }),
      ...joins,
    ]);
    expect(gone.status).toBe(200);
    expect(answers.filter(({ status }) => status !== 201 && status !== 404)).toEqual([]);
    for (const user of users) {
      const { body } = await request("GET", "/v1/public/accounts", { token: user.token });
      expect(body.total).toBe(0);
    }
  }
});

test("a user and a service account with the same id are two members", async () => {
  const account = await newAccount();
  const group = await newGroup(account, "Both");
  const service = await newServiceAccount(account);
  await join(account, group, service.id, "user");
  await join(account, group, service.id, "service_account");
  const members = await asOwner(account, "GET", `groups/${group.id}/members`);
  expect(members).toMatchObject({ total: 2 });
  const read = await request("GET", `/v1/public/accounts/${account.id}`, { token: service.token });
  expect(read.status).toBe(200);
});

test("only owners can remove a member of a group that owns the account, or move a subgroup out of it", async () => {
  const account = await newAccount();
  const [owning, inside] = [await newGroup(account, "Owning"), await newGroup(account, "Inside")];
  await asOwner(account, "POST", "authorizations", {
    grant_kind: "account_owner",
    subject_type: "group",
    subject_id: owning.id,
  });
  await asOwner(account, "PATCH", `groups/${inside.id}`, { parent_id: owning.id });
  const member = newUser();
  await join(account, owning, member.id);
  const manager = newUser();
  await asOwner(account, "POST", "authorizations", {
    grant_kind: "capability",
    capability_key: "auth.manage",
    subject_type: "user",
    subject_id: manager.id,
  });
  const refused = { status: 403, code: "would_escalate", missing: ["account_owner"] };
  const { token } = manager;
  const removal = await request("DELETE", path(account, `/${owning.id}/members/${member.id}`), { token });
  expect(removal.body).toMatchObject(refused);
  const move = await request("PATCH", path(account, `/${inside.id}`), { token, body: { parent_id: null } });
  expect(move.body).toMatchObject(refused);
});

test.each(["\ud800", "a\u0000b"])("refuses the description %j", async (description) => {
  const account = await newAccount();
  const body = { name: randomUUID(), description };
  const answer = await request("POST", path(account, ""), { token: account.owner.token, body });
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toMatchObject([{ loc: ["body", "description"] }]);
});
