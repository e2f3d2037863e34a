import { expect, test } from "vitest";

import { changeJournalOf, StoredChange } from "../../../shared/changes/record.ts";
import { listFeedback } from "../../../shared/feedback/list.ts";
import { readEntries } from "../../../shared/table/journal.ts";
import { storedOf } from "../../support/entry-points.ts";
import { request } from "../../support/request.ts";
import {
  grant,
  newAccount,
  newMember,
  newServiceAccount,
  newSuperAdmin,
  newUser,
  testTable,
  type Account,
  type User,
} from "../../support/world.ts";

const given = { category: "bug_report", title: "It is slow", description: "Since Monday.\n\tVery." };

type Sent = { as?: Pick<User, "token">; headers?: Record<string, string> };

const submit = ({ id, owner }: Account, body: object = {}, { as = owner, headers = {} }: Sent = {}) =>
  request("POST", `/v1/public/accounts/${id}/feedback`, { token: as.token, body: { ...given, ...body }, headers });

const page = { page: 1, page_size: 100, order: "desc" as const };
const kept = ({ id }: Account) => listFeedback(testTable(), { account: id }, page);

test("stores the feedback with its author, and answers with all its members", async () => {
  const account = await newAccount();
  const ada = newUser({ given_name: "Ada", family_name: "Lovelace", email: "ada@example.com" });
  await grant(account, ada, { capability: "dns.view" });
  const attributes = { version: 3.5, nested: { list: [1, "two", null, true], deep: {} } };
  const body = {
    title: "  It is slow ",
    description: " Since Monday.\r\nVery.\r",
    attributes,
    paid_product_feature: true,
  };
  const answer = await submit(account, body, { as: ada });
  expect(answer.status).toBe(201);
  expect(answer.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    account_id: account.id,
    category: "bug_report",
    title: "It is slow",
    description: "Since Monday.\nVery.",
    attributes,
    paid_product_feature: true,
    status: "new",
    created_by_user_id: ada.id,
    submitter_email: "ada@example.com",
    submitter_name: "Ada Lovelace",
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    updated_at: answer.body.created_at,
    admin_notes: null,
  });
  expect(await kept(account)).toEqual({ items: [answer.body], total: 1 });
});

test("missing facts have defaults: a null name, no attributes, and no paid feature", async () => {
  const account = await newAccount();
  for (const body of [{}, { attributes: null }]) {
    const answer = await submit(account, body);
    expect(answer.body).toMatchObject({ submitter_name: null, attributes: {}, paid_product_feature: false });
  }
});

test.each([
  [{ given_name: "Ada" }, "Ada"],
  [{ family_name: "Lovelace" }, "Lovelace"],
  [{ given_name: " ", family_name: "" }, null],
])("a token with the claims %j gives the submitter's name %j", async (claims, name) => {
  const account = await newAccount({ owner: newUser(claims) });
  expect((await submit(account)).body.submitter_name).toBe(name);
});

test("names a service account by its own email address", async () => {
  const account = await newAccount();
  const program = await newServiceAccount(account, { capability: "dns.view" });
  const me = await request("GET", "/v1/public/me", { token: program.token });
  const { body } = await submit(account, {}, { as: program });
  expect(body).toMatchObject({
    created_by_user_id: program.id,
    submitter_email: me.body.email,
    submitter_name: null,
  });
});

test("accepts feedback from members with any capability and from super admins, and from nobody else", async () => {
  const account = await newAccount();
  const member = await newMember(account, { capability: "tag.manage" });
  for (const as of [member, await newSuperAdmin()]) expect((await submit(account, {}, { as })).status).toBe(201);
  const before = await storedOf(account);
  expect((await submit(account, {}, { as: newUser() })).body.code).toBe("not_found");
  expect(await storedOf(account)).toEqual(before);
});

test("is recorded as the event feedback.submitted, with all its members", async () => {
  const account = await newAccount();
  const { body } = await submit(account, { attributes: { a: [1e300] } });
  const { rows } = await readEntries(testTable(), changeJournalOf(account.id), { skip: 0, take: 1 }, new Date());
  expect(rows.map((row) => StoredChange.parse(row))).toMatchObject([
    { type: "feedback.submitted", action: "feedback.submit", resource_id: body.id, after: body },
  ]);
});

test("a repeated request with the same key stores the feedback once", async () => {
  const account = await newAccount();
  const headers = { "idempotency-key": "once" };
  const [first, again] = [await submit(account, {}, { headers }), await submit(account, {}, { headers })];
  expect(again.body).toEqual(first.body);
  expect(again.headers["idempotency-replayed"]).toBe("true");
  expect((await kept(account)).total).toBe(1);
});

test("stores all concurrent feedback, each only once", async () => {
  const account = await newAccount();
  const members = await Promise.all(Array.from({ length: 6 }, () => newMember(account, { capability: "dns.view" })));
  const answers = await Promise.all(members.map((as, index) => submit(account, { title: `T${index}` }, { as })));
  expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201));
  const { items, total } = await kept(account);
  expect(total).toBe(6);
  expect(items.map(({ id }) => id).toSorted()).toEqual(answers.map(({ body }) => body.id as string).toSorted());
});

test.each<[body: Record<string, unknown>, place: string]>([
  [{ category: "praise" }, "category"],
  [{ category: null }, "category"],
  [{ title: "" }, "title"],
  [{ title: " \t" }, "title"],
  [{ title: "x".repeat(201) }, "title"],
  [{ title: "two\nlines" }, "title"],
  [{ title: "\u200b" }, "title"],
  [{ title: "a\u202eb" }, "title"],
  [{ description: "" }, "description"],
  [{ description: "\n \n" }, "description"],
  [{ description: "x".repeat(10_001) }, "description"],
  [{ description: "bell\u0007" }, "description"],
  [{ description: "csi\u009b31m" }, "description"],
  [{ description: "half \ud800" }, "description"],
  [{ description: 5 }, "description"],
  [{ attributes: [] }, "attributes"],
  [{ attributes: "x" }, "attributes"],
  [{ attributes: { big: "x".repeat(8_192) } }, "attributes"],
  [{ paid_product_feature: "yes" }, "paid_product_feature"],
  [{ status: "done" }, "status"],
  [{ admin_notes: "mine" }, "admin_notes"],
])("refuses %j, names the member, and stores nothing", async (body, place) => {
  const account = await newAccount();
  const before = await storedOf(account);
  const answer = await submit(account, body);
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toMatchObject([{ loc: ["body", place] }]);
  expect(await storedOf(account)).toEqual(before);
});

test("refuses attributes that are nested too deeply, however deep", async () => {
  const account = await newAccount();
  const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  const text = (levels: number) => JSON.stringify(given).replace(/\}$/, `,"attributes":{"a":${nested(levels)}}}`);
  const send = (levels: number) =>
    request("POST", `/v1/public/accounts/${account.id}/feedback`, { token: account.owner.token, body: text(levels) });
  expect((await send(19)).status).toBe(201);
  for (const levels of [20, 500, 1_000]) {
    expect((await send(levels)).body.detail).toMatchObject([{ loc: ["body", "attributes"] }]);
  }
  expect((await send(200_000)).body.code).toBe("malformed_json");
});

test("accepts the longest title, description and attributes", async () => {
  const account = await newAccount();
  const longest = {
    title: "ß".repeat(200),
    description: "字".repeat(10_000),
    attributes: { big: "x".repeat(8_192 - '{"big":""}'.length) },
  };
  const { status, body } = await submit(account, longest, { headers: { "idempotency-key": "long" } });
  expect(status).toBe(201);
  expect(body).toMatchObject(longest);
});
