import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { timeOrderedId } from "../../../shared/core/ids.ts";
import { request } from "../../support/request.ts";
import { newAccount, newUser, testTable, type Account } from "../../support/world.ts";

const now = new Date();
const long = "x".repeat(300_000);

/** Stores 18 items that together are too large for an answer. */
async function store({ id }: Account, itemOf: (id: string) => { SK: string }): Promise<void> {
  for (let count = 0; count < 18; count += 1) {
    await testTable().attempt({ put: { PK: `ACCOUNT#${id}`, ...itemOf(timeOrderedId(now)) } });
  }
}

const assignment = (id: string) => ({
  SK: `ASSIGNMENT#${id}`,
  id,
  subject_type: "user",
  subject_id: randomUUID(),
  scope: { type: "domain", id: long },
  created_at: now.toISOString(),
  created_by: randomUUID(),
});

const serviceAccount = (id: string, accountId: string) => ({
  SK: `SERVICE_ACCOUNT#${id}`,
  id,
  account_id: accountId,
  name: long,
  token_prefix: "hm_",
  token_last4: "1234",
  token_public_id: "a",
  created_at: now.toISOString(),
  created_by_user_id: randomUUID(),
  expires_at: null,
  revoked_at: null,
  public_ids: [],
  version: 1,
});

const get = ({ id, owner: { token } }: Account, list: string) =>
  request("GET", `/v1/public/accounts/${id}/auth/${list}`, { token });

test("grants that are too large for an answer are a 422 that names `subject_id`, which makes the answer smaller", async () => {
  const account = await newAccount();
  await store(account, (id) => ({ ...assignment(id), kind: "capability", capability: "dns.view" }));
  const { status, body } = await get(account, "authorizations");
  expect([status, body.detail]).toMatchObject([422, [{ loc: ["query", "subject_id"], type: "too_many" }]]);
  expect(body.detail[0].msg).toMatch(/^19 grants .* `subject_id`/);
  const own = await get(account, `authorizations?subject_id=${account.owner.id}`);
  expect([own.status, own.body]).toMatchObject([200, [{ grant_kind: "account_owner" }]]);
});

test("role assignments that are too large for an answer are a 422 that names `subject_id`, which makes the answer smaller", async () => {
  const account = await newAccount();
  await store(account, (id) => ({ ...assignment(id), kind: "role", role: "viewer" }));
  const { status, body } = await get(account, "role-assignments");
  expect([status, body.detail]).toMatchObject([422, [{ loc: ["query", "subject_id"], type: "too_many" }]]);
  const own = await get(account, `role-assignments?subject_id=${account.owner.id}`);
  expect([own.status, own.body]).toEqual([200, []]);
});

test("service accounts that are too large for an answer are a 422 that names `auth.members.list`", async () => {
  const account = await newAccount();
  await store(account, (id) => serviceAccount(id, account.id));
  const { status, body } = await get(account, "service-accounts");
  expect([status, body.detail]).toMatchObject([422, [{ loc: ["query"], type: "too_many" }]]);
  expect(body.detail[0].msg).toContain("`auth.members.list`");
});

test("a page of members that is too large for an answer is a 422, and smaller pages show all members", async () => {
  const account = await newAccount();
  await store(account, (id) => ({
    SK: `ACCESS#user#${newUser().id}`,
    grants: [{ id, capability: "dns.view", scope: { type: "domain", id: long } }],
    version: 1,
  }));
  const { status, body } = await get(account, "members");
  expect([status, body.detail]).toMatchObject([422, [{ loc: ["query", "page_size"], type: "too_many" }]]);
  const pages = await Promise.all([1, 2].map((page) => get(account, `members?page_size=10&page=${page}`)));
  expect(pages.map((page) => [page.body.total, page.body.items.length])).toEqual([
    [19, 10],
    [19, 9],
  ]);
});
