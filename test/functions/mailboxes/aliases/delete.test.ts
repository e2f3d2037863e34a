import { expect, test } from "vitest";

import { added, aliasesOf, at, home, send, stocked } from "../../../support/mailboxes.ts";
import { statusesOf } from "../../../support/request.ts";
import { newAccount, newMember, type Account } from "../../../support/world.ts";

/** Two mailboxes. The first one has the given aliases. */
async function scene(...aliases: string[]) {
  const account = await newAccount();
  const { name } = await home(account);
  const [ada = "", bob = ""] = await stocked(account, name, ["ada", "bob"]);
  for (const alias of aliases) await send(account, "POST", at(ada, "/aliases"), { alias });
  return { account, name, ada, bob };
}

const remove = (account: Account, mailbox: string, alias: string) =>
  send(account, "DELETE", at(mailbox, `/aliases/${alias}`));

test("deletes by the local part, the whole address and `*`, in any letter case and percent-encoded", async () => {
  const { account, name, ada } = await scene("one", "two", "three", "*", "four");
  const written = ["ONE", `two%40${name}`, `Three@${name.toUpperCase()}`, "%2A", encodeURIComponent(`four@${name}`)];
  for (const alias of written) {
    const answer = await remove(account, ada, alias);
    expect([answer.status, answer.body], alias).toEqual([200, {}]);
  }
  expect(await aliasesOf(account, ada)).toEqual([]);
});

test("the address of a deleted alias is free at once for a new mailbox and for a new alias", async () => {
  const { account, name, ada, bob } = await scene("sales", "info", "*");
  for (const alias of ["sales", "info", `*@${name}`]) await remove(account, ada, alias);
  expect((await added(account, name, "sales")).primary_email).toBe(`sales@${name}`);
  for (const alias of ["info", "*"]) {
    expect((await send(account, "POST", at(bob, "/aliases"), { alias })).status).toBe(201);
  }
});

test("404 for addresses that are no alias of this mailbox: its own, another mailbox's alias, a deleted alias", async () => {
  const { account, name, ada, bob } = await scene("sales", "info");
  await remove(account, ada, "info");
  const cases: [mailbox: string, alias: string][] = [
    [ada, "ada"],
    [ada, "bob"],
    [bob, "sales"],
    [ada, "info"],
    [ada, "nobody"],
    [ada, "*"],
    [ada, "sales@example.com"],
  ];
  for (const [mailbox, alias] of cases) {
    expect((await remove(account, mailbox, alias)).body, alias).toMatchObject({ status: 404, code: "not_found" });
  }
  expect(await aliasesOf(account, ada)).toEqual([`sales@${name}`]);
});

test("422 at its place for a text that cannot be an alias", async () => {
  const { account, ada } = await scene();
  for (const alias of ["a%20b", "sales%2Bx", "%40", "b%C3%BCro"]) {
    const { status, body } = await remove(account, ada, alias);
    expect([status, body.detail?.[0]?.loc], alias).toEqual([422, ["path", "alias"]]);
  }
});

test("of many deletions of an alias at the same time one succeeds, and the mailbox's other alias stays", async () => {
  const { account, name, ada } = await scene("sales", "info");
  const answers = await Promise.all(Array.from({ length: 6 }, () => remove(account, ada, "sales")));
  expect(statusesOf(answers)).toEqual([200, ...Array(5).fill(404)]);
  expect(await aliasesOf(account, ada)).toEqual([`info@${name}`]);
});

test("needs mailbox.update on the domain: an editor of only the mailbox is refused", async () => {
  const { account, name, ada } = await scene("sales");
  const as = await newMember(account, { role: "editor", scope: { type: "mailbox", id: ada } });
  const { body } = await send(account, "DELETE", at(ada, "/aliases/sales"), undefined, { as });
  expect(body).toMatchObject({ status: 403, code: "forbidden", required_capability: "mailbox.update" });
  expect(await aliasesOf(account, ada)).toEqual([`sales@${name}`]);
});
