import { expect, test } from "vitest";

import { changeJournalOf } from "../../../shared/changes/record.ts";
import { readEntries } from "../../../shared/table/journal.ts";
import { request } from "../../support/request.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

// A process reads this variable once, at its first request.
process.env["READ_ONLY"] = "A restore is under way until 15:00 UTC.";

const workspaces = ({ id }: Account): string => `/v1/public/accounts/${id}/workspaces`;
const changes = async ({ id }: Account): Promise<number> =>
  (await readEntries(testTable(), changeJournalOf(id), { skip: 0, take: 100 }, new Date())).rows.length;

const stopped = { code: "read_only", detail: "A restore is under way until 15:00 UTC." };

test("while changes are stopped, a write gets a 503 with the reason and a Retry-After, and changes nothing", async () => {
  const account = await newAccount();
  const before = await changes(account);
  const { token } = account.owner;
  const answer = await request("POST", workspaces(account), { token, body: { name: "Sales" } });
  expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "60" }, body: stopped });
  expect(await changes(account)).toBe(before);
});

test("while changes are stopped, reads succeed", async () => {
  const account = await newAccount();
  expect(await request("GET", workspaces(account), { token: account.owner.token })).toMatchObject({ status: 200 });
});

test("while changes are stopped a program reads, and fails at its first write", async () => {
  const account = await newAccount();
  const code = `workspaces.list(account_id="${account.id}")\nworkspaces.add(account_id="${account.id}", name="Sales")`;
  const { body } = await request("POST", "/v1/public/a2a", {
    token: account.owner.token,
    body: { request_id: "r", session_id: "s", code },
  });
  expect(body.responses.map(({ status }: { status: string }) => status)).toEqual(["completed", "failed"]);
  expect(body.error).toMatchObject({ code: "read_only" });
});

test("while changes are stopped, callers without a token or a permission get the same answers as before", async () => {
  const [mine, other] = [await newAccount(), await newAccount()];
  expect(await request("POST", workspaces(mine), { body: { name: "Sales" } })).toMatchObject({ status: 401 });
  expect(await request("GET", workspaces(other), { token: mine.owner.token })).toMatchObject({ status: 404 });
});
