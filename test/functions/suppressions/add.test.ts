import { expect, test } from "vitest";

import { send, statusesOf } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("suppresses an address in its canonical spelling", async () => {
  const account = await newAccount();
  const body = { email: " Bob+News@Bücher.Example.", detail: " He asked for it. " };
  const { status, body: made, headers } = await send(account, "POST", "suppressions", body);
  expect([status, made]).toEqual([
    201,
    {
      id: expect.any(String) as string,
      email: "bob+news@xn--bcher-kva.example",
      reason: "manual",
      status: null,
      detail: "He asked for it.",
      created_at: expect.any(String) as string,
    },
  ]);
  expect(headers["location"]).toBeUndefined();
  const [change] = await recorded(account, "suppression.added");
  expect(change).toMatchObject({ actor_id: account.owner.id, resource_id: made.id, after: made });
});

test("requests that add an address at the same moment make one suppression, and all return it", async () => {
  const account = await newAccount();
  const add = (detail: string) => send(account, "POST", "suppressions", { email: "bob@far.example", detail });
  const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => add(String(index))));
  expect(statusesOf(answers)).toEqual(Array(8).fill(201));
  expect(new Set(answers.map(({ body }) => String(body.id))).size).toBe(1);
  const { body } = await send(account, "GET", "suppressions");
  expect([body.total, body.items]).toEqual([1, [answers[0]?.body]]);
  expect(await recorded(account, "suppression.added")).toHaveLength(1);
});

test.each([
  [{ email: "bob" }, "email"],
  [{ email: "bob@localhost" }, "email"],
  [{ email: '"bob x"@far.example' }, "email"],
  [{ email: `${"b".repeat(65)}@far.example` }, "email"],
  [{}, "email"],
  [{ email: "bob@far.example", reason: "bounce" }, "reason"],
  [{ email: "bob@far.example", detail: "a\u0007" }, "detail"],
  [{ email: "bob@far.example", detail: "x".repeat(501) }, "detail"],
])("refuses %j", async (body, member) => {
  const account = await newAccount();
  const answer = await send(account, "POST", "suppressions", body);
  expect([answer.status, answer.body.detail[0].loc]).toEqual([422, ["body", member]]);
  expect((await send(account, "GET", "suppressions")).body.total).toBe(0);
});

test("needs suppression.manage on the account", async () => {
  const account = await newAccount();
  const viewer = await newMember(account, { role: "viewer" });
  const refused = await send(account, "POST", "suppressions", { email: "bob@far.example" }, { as: viewer });
  expect(refused.body).toMatchObject({ status: 403, required_capability: "suppression.manage" });
  const editor = await newMember(account, { role: "editor" });
  expect((await send(account, "POST", "suppressions", { email: "bob@far.example" }, { as: editor })).status).toBe(201);
});
