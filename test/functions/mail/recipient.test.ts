import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { setStored } from "../../support/domain-work.ts";
import { delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { whereTo } from "../../support/mail-door.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { newAccount, testTable } from "../../support/world.ts";

async function scene(options: { name?: string; status?: string } = {}) {
  const account = await newAccount();
  const { name } = await home(account, options);
  const [ada = "", bob = ""] = await stocked(account, name, ["ada", "bob"]);
  const alias = (mailbox: string, text: string) => send(account, "POST", at(mailbox, "/aliases"), { alias: text });
  const to = (kind: string, mailbox: string, local: string) => ({
    status: 200,
    kind,
    mailbox: `${local}@${name}`,
    mailbox_id: mailbox,
    account_id: account.id,
    copies: [],
  });
  return { account, name, ada, bob, alias, to };
}

const unknown = { status: 200, kind: "unknown" };
const none = { status: 200, kind: "none" };

test("mail for an address goes to its mailbox, by the address or an alias, in any spelling", async () => {
  const label = uniqueName("r", "example-x.com");
  const { name, ada, alias, to } = await scene({ name: `bücher-${label}` });
  await alias(ada, "sales");
  for (const address of [
    `ada@${name}`,
    `ADA%40${name.toUpperCase()}`,
    `ada@${encodeURIComponent(`bücher-${label}.`)}`,
  ]) {
    expect(await whereTo(address), address).toEqual(to("mailbox", ada, "ada"));
  }
  expect(await whereTo(`Sales@${name}`)).toEqual(to("alias", ada, "ada"));
  expect(await whereTo(`nobody@${name}`)).toEqual(none);
});

test("what stands behind a plus makes no difference, however the plus is written", async () => {
  const { name, ada, bob, alias, to } = await scene();
  await alias(bob, "sales");
  for (const tag of ["+lists", "%2Blists", "+a+b", "+", "+%20x", `%2B${"x".repeat(50)}`]) {
    expect(await whereTo(`ada${tag}@${name}`), tag).toEqual(to("mailbox", ada, "ada"));
    expect(await whereTo(`sales${tag}@${name}`), tag).toEqual(to("alias", bob, "bob"));
  }
  for (const local of ["+ada", "nobody+ada", "%2B"]) expect(await whereTo(`${local}@${name}`)).toEqual(none);
});

test("the catch-all has every address that nobody else has, and only of its domain", async () => {
  const { account, name, ada, bob, alias, to } = await scene();
  await alias(bob, "*");
  for (const local of ["nobody", "nobody+x", "*", "b%C3%BCro", "a%20b", "+x"]) {
    expect(await whereTo(`${local}@${name}`), local).toEqual(to("catch_all", bob, "bob"));
  }
  expect(await whereTo(`ada@${name}`)).toEqual(to("mailbox", ada, "ada"));
  const other = await home(account);
  expect(await whereTo(`nobody@${other.name}`)).toEqual(none);
  await send(account, "DELETE", at(bob));
  expect(await whereTo(`nobody@${name}`)).toEqual(none);
});

test("what is no address, or of no domain of ours, is unknown", async () => {
  const { name } = await scene();
  for (const address of [
    "",
    "ada",
    "@",
    `@${name}`,
    `ada@www.${name}`,
    `ada@${uniqueName()}`,
    `a@b@${name}`,
    "%FF",
    "ada@localhost",
  ]) {
    expect(await whereTo(address), address).toEqual(unknown);
  }
});

test("a paused mailbox and a suspended account still get their mail, a closed account does not", async () => {
  const { account, name, ada, to } = await scene();
  await send(account, "PATCH", at(ada, "/active"), { active: false });
  expect(await whereTo(`ada@${name}`)).toEqual(to("mailbox", ada, "ada"));
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect(await whereTo(`ada@${name}`)).toEqual(to("mailbox", ada, "ada"));
  await setAccountStatus(testTable(), account.id, "closed", new Date());
  expect(await whereTo(`ada@${name}`)).toEqual(unknown);
});

test("nobody gets the mail of a name that they only say is theirs", async () => {
  const { account, name, ada, to } = await scene({ status: "pending_delegation" });
  expect(await whereTo(`ada@${name}`)).toEqual(unknown);
  await delegated(account, name);
  await domainsRequest(account, "POST", `/${name}/verify`);
  expect(await whereTo(`ada@${name}`)).toEqual(to("mailbox", ada, "ada"));
});

test("a domain that is degraded still gets its mail, and one that goes does not", async () => {
  const { account, name, ada, to } = await scene();
  await setStored(account, name, { status: "degraded" });
  expect(await whereTo(`ada@${name}`)).toEqual(to("mailbox", ada, "ada"));
  await setStored(account, name, { status: "releasing", is_open: false });
  expect(await whereTo(`ada@${name}`)).toEqual(unknown);
});

test("answers 401 to who is no mail server of the deployment", async () => {
  const { name } = await scene();
  for (const headers of [{}, { "x-mail-key": "wrong" }] as Record<string, string>[]) {
    expect(await whereTo(`ada@${name}`, headers)).toMatchObject({ status: 401, code: "unauthenticated" });
  }
});
