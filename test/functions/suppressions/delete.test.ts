import { expect, test } from "vitest";

import { isSuppressed } from "../../../shared/mail/suppressions/suppression.ts";
import { send, statusesOf } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { newAccount, testTable } from "../../support/world.ts";

async function scene() {
  const account = await newAccount();
  const { body } = await send(account, "POST", "suppressions", { email: "bob@far.example" });
  const remove = (ref: string) => send(account, "DELETE", `suppressions/${encodeURIComponent(ref)}`);
  return { account, made: body as { id: string; email: string }, remove };
}

test.each(["id", "email"] as const)(
  "deletes once, by the %s, and the address is not suppressed any more",
  async (member) => {
    const { account, made, remove } = await scene();
    const ref = member === "id" ? made.id.toUpperCase() : " BOB@far.example";
    const { status, body } = await remove(ref);
    expect([status, body]).toEqual([200, {}]);
    expect(await isSuppressed(testTable(), account.id, made.email)).toBe(false);
    expect((await remove(ref)).status).toBe(404);
    const [change] = await recorded(account, "suppression.deleted");
    expect(change).toMatchObject({ resource_id: made.id, before: { email: made.email } });
    const again = await send(account, "POST", "suppressions", { email: made.email });
    expect([again.status, again.body.id === made.id]).toEqual([201, false]);
    expect((await send(account, "GET", "suppressions")).body.total).toBe(1);
  },
);

test("one of many concurrent deletions succeeds", async () => {
  const { account, made, remove } = await scene();
  const answers = await Promise.all(Array.from({ length: 6 }, (_, index) => remove(index % 2 ? made.id : made.email)));
  expect(statusesOf(answers)).toEqual([200, ...Array(5).fill(404)]);
  expect((await send(account, "GET", "suppressions")).body.total).toBe(0);
});

test("404 for another account's suppression, and 422 for a text that is neither an id nor an address", async () => {
  const [own, other] = [await scene(), await newAccount()];
  for (const ref of [own.made.id, own.made.email]) {
    expect((await send(other, "DELETE", `suppressions/${encodeURIComponent(ref)}`)).status).toBe(404);
  }
  const { status, body } = await own.remove("bob");
  expect([status, body.detail]).toEqual([
    422,
    [{ loc: ["path", "suppression"], msg: "Write a suppression's id or its address", type: "value_error" }],
  ]);
});
