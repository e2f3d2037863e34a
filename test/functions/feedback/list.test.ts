import { expect, test } from "vitest";

import { setFeedbackStatus } from "../../../shared/feedback/operate.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const send = ({ id, owner }: Account, method: string, query = "", body?: object, { token } = owner) =>
  request(method, `/v1/public/accounts/${id}/feedback${query}`, { token, ...(body ? { body } : {}) });

const submitted = async (account: Account, title: string) =>
  (await send(account, "POST", "", { category: "bug_report", title, description: "It is slow." })).body;

test("shows the account's feedback with our answer, newest first, by status and page by page", async () => {
  const account = await newAccount();
  const [first, second, third] = [
    await submitted(account, "First"),
    await submitted(account, "Second"),
    await submitted(account, "Third"),
  ];
  const decision = { accountId: account.id, id: second.id, status: "done" as const, notes: "Fixed today" };
  const answered = await setFeedbackStatus(testTable(), decision, new Date());
  expect((await send(account, "GET")).body).toEqual({
    items: [third, answered, first],
    total: 3,
    page: 1,
    page_size: 25,
  });
  expect((await send(account, "GET", "?order=asc&page_size=1&page=2")).body).toMatchObject({
    items: [{ id: second.id, admin_notes: "Fixed today" }],
    total: 3,
  });
  expect((await send(account, "GET", "?status=done")).body).toMatchObject({ items: [answered], total: 1 });
  expect((await send(account, "GET", "?status=new")).body).toMatchObject({ items: [third, first], total: 2 });
  expect((await send(account, "GET", "?status=planned")).body).toMatchObject({ items: [], total: 0 });
});

test("who may not manage access sees only their own, with its pages and totals", async () => {
  const account = await newAccount();
  const member = await newMember(account, { capability: "dns.view" });
  const text = { category: "other", description: "It works." };
  const own: string[] = [];
  for (const title of ["One", "Two"]) {
    await submitted(account, "Secret");
    own.push((await send(account, "POST", "", { ...text, title }, member)).body.id);
  }
  const [one, two] = own;
  const seen = async (query: string) => {
    const { body } = await send(account, "GET", query, undefined, member);
    return [body.items.map(({ id }: { id: string }) => id), body.total];
  };
  expect(await seen("")).toEqual([[two, one], 2]);
  expect(await seen("?order=asc&page_size=1&page=2")).toEqual([[two], 2]);
  expect(await seen("?status=new")).toEqual([[two, one], 2]);
  expect(await seen("?status=done")).toEqual([[], 0]);
  const manager = await newMember(account, { capability: "auth.manage" });
  expect((await send(account, "GET", "", undefined, manager)).body.total).toBe(4);
});

test("members who manage access see all of it, strangers nothing, and 422 for a status that does not exist", async () => {
  const account = await newAccount();
  const { id } = await submitted(account, "First");
  const member = await newMember(account, { capability: "auth.manage" });
  expect((await send(account, "GET", "", undefined, member)).body.items).toMatchObject([{ id }]);
  expect((await send(account, "GET", "", undefined, (await newAccount()).owner)).status).toBe(404);
  expect((await send(account, "GET", "?status=closed")).body.detail[0].loc).toEqual(["query", "status"]);
});
