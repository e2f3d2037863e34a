import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { holderKey } from "../../../shared/domains/domain.ts";
import { newWorkspace } from "../../support/auth.ts";
import { removeForGood } from "../../support/domain-deletions.ts";
import { setStored, write } from "../../support/domain-work.ts";
import { agreedRule, mailed, ofRule, press, ruleTo, stranger } from "../../support/forwarding.ts";
import { whereTo } from "../../support/mail-routes.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { testTable, type Account } from "../../support/world.ts";

/** The addresses that get copies of mail to an address. The address of a mailbox of the product ends with `(here)`. */
async function copiesOf(address: string): Promise<string[]> {
  const { copies } = (await whereTo(address)) as unknown as {
    copies: { address: string; mailbox_id: string | null }[];
  };
  return copies.map(({ address: to, mailbox_id }) => (mailbox_id === null ? to : `${to} (here)`)).toSorted();
}

/** An account with a domain that has the mailboxes ada and bob. */
async function scene() {
  const account = await newRoomyAccount();
  const domain = await home(account);
  await stocked(account, domain.name, ["ada", "bob"]);
  return { account, domain, name: domain.name };
}

const setActive = (account: Account, id: string, active: boolean) =>
  send(account, "PATCH", ofRule(id, "/active"), { active });

test("copies of mail to an address are sent by the rules of its account, workspace and domain, and by no others", async () => {
  const { account, domain, name } = await scene();
  const other = await home(account);
  const [all, workspace, own] = [stranger("all"), stranger("workspace"), stranger("own")];
  await agreedRule(account, all);
  await agreedRule(account, workspace, { workspace_id: domain.workspace_id });
  await agreedRule(account, own, { domain: name });
  await agreedRule(account, stranger(), { domain: other.name });
  await agreedRule(account, stranger(), { workspace_id: await newWorkspace(account, "Elsewhere") });
  expect(await copiesOf(`ada@${name}`)).toEqual([all, own, workspace].toSorted());
  expect(await whereTo(`nobody@${name}`)).toEqual({ status: 200, kind: "none" });
});

test("a rule sends no copies before the recipient agrees, while the rule is paused, and after its target changes", async () => {
  const { account, name } = await scene();
  const target = stranger();
  const rule = await ruleTo(account, target, { domain: name });
  expect(await copiesOf(`ada@${name}`)).toEqual([]);
  await press((await mailed(account, rule)).token);
  expect(await copiesOf(`ada@${name}`)).toEqual([target]);
  await setActive(account, rule.id, false);
  expect(await copiesOf(`ada@${name}`)).toEqual([]);
  await setActive(account, rule.id, true);
  expect(await copiesOf(`ada@${name}`)).toEqual([target]);
  await send(account, "PATCH", ofRule(rule.id), { target_email: stranger() });
  expect(await copiesOf(`ada@${name}`)).toEqual([]);
  await send(account, "DELETE", ofRule(rule.id));
  expect(await copiesOf(`ada@${name}`)).toEqual([]);
});

test("an alias and the catch-all of a mailbox have the same copies as the mailbox", async () => {
  const { account, name } = await scene();
  const target = stranger();
  await agreedRule(account, target, { domain: name });
  await send(account, "POST", at(`ada@${name}`, "/aliases"), { alias: "sales" });
  await send(account, "POST", at(`bob@${name}`, "/aliases"), { alias: "*" });
  for (const local of ["ada+x", "sales", "anything"]) expect(await copiesOf(`${local}@${name}`)).toEqual([target]);
});

test("a target with a tag means the mailbox without the tag, and a mailbox gets no copies of its own mail", async () => {
  const { account, name } = await scene();
  await ruleTo(account, `ada+all@${name}`, { domain: name });
  expect(await copiesOf(`bob@${name}`)).toEqual([`ada@${name} (here)`]);
  expect(await copiesOf(`ada@${name}`)).toEqual([]);
});

test("a copy to a mailbox is copied further by the rules of the mailbox's domain, once to each address", async () => {
  const { account, name } = await scene();
  const [second, third] = [await home(account), await home(account)];
  for (const domain of [second, third]) await stocked(account, domain.name, ["ada"]);
  const target = stranger();
  await ruleTo(account, `ada@${second.name}`, { domain: name });
  await ruleTo(account, `ada@${third.name}`, { domain: second.name });
  const asked = await ruleTo(account, target, { domain: third.name });
  await ruleTo(account, target, { domain: name });
  await press((await mailed(account, asked)).token);
  expect(await copiesOf(`bob@${name}`)).toEqual(
    [`ada@${second.name} (here)`, `ada@${third.name} (here)`, target].toSorted(),
  );
});

test("in a loop that arises when a domain is verified, each address gets one copy", async () => {
  const { account, name } = await scene();
  const other = await home(account, { status: "pending_delegation" });
  await ruleTo(account, `ada@${name}`, { domain: other.name });
  const rule = await ruleTo(account, `bob@${other.name}`, { domain: name });
  expect(rule.verification_state).toBe("pending");
  await press((await mailed(account, rule)).token);
  await setStored(account, other.name, { status: "active", verified_at: other.created_at });
  await write({ update: holderKey(other.name), set: { firm: true } });
  await stocked(account, other.name, ["bob"]);
  expect(await copiesOf(`bob@${name}`)).toEqual([`ada@${name} (here)`, `bob@${other.name} (here)`].toSorted());
  expect(await copiesOf(`bob@${other.name}`)).toEqual([`ada@${name} (here)`]);
});

test("a deleted mailbox gets no copies", async () => {
  const { account, name } = await scene();
  await ruleTo(account, `ada@${name}`, { domain: name });
  expect(await copiesOf(`bob@${name}`)).toEqual([`ada@${name} (here)`]);
  await send(account, "DELETE", at(`ada@${name}`));
  expect(await copiesOf(`bob@${name}`)).toEqual([]);
});

test("a recipient who agreed gets copies until the account proves the recipient's domain; then its own mailbox gets them", async () => {
  const { account, name } = await scene();
  const target = stranger();
  await agreedRule(account, target, { domain: name });
  const [local = "", theirs = ""] = target.split("@");
  const said = await home(account, { name: theirs, status: "pending_delegation" });
  await stocked(account, theirs, [local]);
  expect(await copiesOf(`ada@${name}`)).toEqual([target]);
  await setStored(account, theirs, { status: "active", verified_at: said.created_at });
  await write({ update: holderKey(theirs), set: { firm: true } });
  expect(await copiesOf(`ada@${name}`)).toEqual([`${target} (here)`]);
});

test("after a domain is deleted and connected again, a new mailbox gets no copies by a rule for the old mailbox", async () => {
  const { account, name } = await scene();
  const other = await home(account);
  await stocked(account, other.name, ["ada"]);
  await ruleTo(account, `ada@${other.name}`, { domain: name });
  expect(await copiesOf(`bob@${name}`)).toEqual([`ada@${other.name} (here)`]);
  await send(account, "DELETE", at(`ada@${other.name}`));
  await removeForGood(account, other.name);
  await home(account, { name: other.name, workspaceId: other.workspace_id });
  await stocked(account, other.name, ["ada"]);
  expect(await copiesOf(`bob@${name}`)).toEqual([]);
});

test("a suppressed address elsewhere gets no copies, and the mail for it stays in the mailbox", async () => {
  const { account, name } = await scene();
  const [target, sales, other] = [stranger(), stranger(), stranger()];
  await agreedRule(account, target, { mailbox: `ada@${name}`, keep_copy: false });
  await agreedRule(account, sales, { domain: name, address: "sales" });
  await agreedRule(account, other, { domain: name, address: "s*" });
  const suppress = async (email: string): Promise<string> =>
    (await send(account, "POST", "suppressions", { email })).body.id;
  const ids = [await suppress(target), await suppress(sales)];
  expect(await whereTo(`ada@${name}`)).toMatchObject({ kind: "mailbox", keep_copy: true, copies: [] });
  expect(await copiesOf(`sales@${name}`)).toEqual([other]);
  for (const id of ids) await send(account, "DELETE", `suppressions/${id}`);
  expect(await whereTo(`ada@${name}`)).toMatchObject({ keep_copy: false, copies: [{ address: target }] });
  expect(await copiesOf(`sales@${name}`)).toEqual([sales]);
});

test("a mail has at most 100 copies", async () => {
  const { account, name } = await scene();
  const locals = Array.from({ length: 100 }, (_, index) => `m${index}`);
  await stocked(account, name, locals);
  for (let first = 0; first < 100; first += 10) {
    const target_emails = locals.slice(first, first + 10).map((local) => `${local}@${name}`);
    expect((await send(account, "POST", "forwarding", { target_emails, domain: name })).status).toBe(201);
  }
  expect(await copiesOf(`ada@${name}`)).toHaveLength(100);
  await ruleTo(account, `bob@${name}`, { domain: name });
  expect(await copiesOf(`ada@${name}`)).toHaveLength(100);
  await agreedRule(account, stranger());
  expect(await copiesOf(`ada@${name}`)).toHaveLength(100);
});

test("a suspended account still receives mail but sends no copies, and a name without a firm hold receives no mail", async () => {
  const { account, name } = await scene();
  await agreedRule(account, stranger(), { domain: name });
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect(await whereTo(`ada@${name}`)).toMatchObject({ kind: "mailbox", copies: [] });
  await setAccountStatus(testTable(), account.id, "active", new Date());
  await write({ update: holderKey(name), set: { firm: false } });
  expect(await whereTo(`ada@${name}`)).toEqual({ status: 200, kind: "unknown" });
});
