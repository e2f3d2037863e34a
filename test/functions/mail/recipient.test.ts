import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { defaultQuotaBytes, mailboxKey } from "../../../shared/mail/mailboxes/mailbox.ts";
import { setStored, write } from "../../support/domain-work.ts";
import { delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { withFault } from "../../support/faults.ts";
import { agreedRule, stranger } from "../../support/forwarding.ts";
import { askMailRoute, whereTo } from "../../support/mail-routes.ts";
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
    mailbox_status: "active",
    quota_bytes: defaultQuotaBytes,
    is_full: false,
    keep_copy: true,
    copies: [],
  });
  return { account, name, ada, bob, alias, to };
}

const unknown = { status: 200, kind: "unknown" };
const none = { status: 200, kind: "none" };

test("mail to any spelling of an address or of an alias goes to its mailbox", async () => {
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
  for (const local of ["Sales", '"sales"', '"s\\ales"', '"sales+x"']) {
    expect(await whereTo(`${local}@${name}`), local).toEqual(to("alias", ada, "ada"));
  }
  expect(await whereTo(`nobody@${name}`)).toEqual(none);
});

test("a look-up reads the table three times for a mailbox, twice for an unknown address, once for an unknown domain", async () => {
  const { name } = await scene();
  for (const [reads, address] of [
    [3, `ada@${name}`],
    [2, `nobody@${name}`],
    [1, "nobody@example.org"],
  ] as const) {
    const { calls } = await withFault(undefined, -1, () => whereTo(address));
    expect(calls, address).toEqual(Array.from({ length: reads }, () => "BatchGetItem"));
  }
});

test("the text after a plus is ignored, in any encoding of the plus", async () => {
  const { name, ada, bob, alias, to } = await scene();
  await alias(bob, "sales");
  for (const tag of ["+lists", "%2Blists", "+a+b", "+", "+%20x", `%2B${"x".repeat(200)}`]) {
    expect(await whereTo(`ada${tag}@${name}`), tag).toEqual(to("mailbox", ada, "ada"));
    expect(await whereTo(`sales${tag}@${name}`), tag).toEqual(to("alias", bob, "bob"));
  }
  for (const local of ["+ada", "nobody+ada", "%2B"]) expect(await whereTo(`${local}@${name}`)).toEqual(none);
});

test("the catch-all gets the mail to every free address of its own domain, and of no other domain", async () => {
  const { account, name, ada, bob, alias, to } = await scene();
  await alias(bob, "*");
  for (const local of ["nobody", "nobody+x", "*", "b%C3%BCro", "a%20b", "+x"]) {
    expect(await whereTo(`${local}@${name}`), local).toEqual(to("catch_all", bob, "bob"));
  }
  for (const local of ["a%0d%0aBcc:b", "a+%09x", "a%00"]) {
    expect(await whereTo(`${local}@${name}`), local).toEqual({ status: 200, kind: "unknown" });
  }
  expect(await whereTo(`ada@${name}`)).toEqual(to("mailbox", ada, "ada"));
  const other = await home(account);
  expect(await whereTo(`nobody@${other.name}`)).toEqual(none);
  await send(account, "DELETE", at(bob));
  expect(await whereTo(`nobody@${name}`)).toEqual(none);
});

test("postmaster and abuse reach the first mailbox of the domain, unless an alias or the catch-all has them", async () => {
  const { account, name, ada, bob, alias, to } = await scene();
  for (const local of ["postmaster", "Abuse", "abuse+spam"]) {
    expect(await whereTo(`${local}@${name}`), local).toEqual(to("role", ada, "ada"));
  }
  expect(await whereTo(`webmaster@${name}`)).toEqual(none);
  await alias(bob, "abuse");
  expect(await whereTo(`abuse@${name}`)).toEqual(to("alias", bob, "bob"));
  await alias(bob, "*");
  expect(await whereTo(`postmaster@${name}`)).toEqual(to("catch_all", bob, "bob"));
  await send(account, "DELETE", at(bob));
  await send(account, "DELETE", at(ada));
  expect(await whereTo(`postmaster@${name}`)).toEqual(none);
});

test("the first mailbox is the oldest one that is not deleted, and its forwarding rules apply to the mail for postmaster", async () => {
  const { account, name, ada, bob, to } = await scene();
  await send(account, "DELETE", at(ada));
  const target = stranger();
  await agreedRule(account, target, { mailbox: bob });
  const copies = [{ address: target, mailbox_id: null }];
  expect(await whereTo(`postmaster@${name}`)).toEqual({ ...to("role", bob, "bob"), copies });
});

test("a text that is not an address, and an address of an unknown domain, are unknown", async () => {
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
  const paused = { ...to("mailbox", ada, "ada"), mailbox_status: "paused" };
  expect(await whereTo(`ada@${name}`)).toEqual(paused);
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect(await whereTo(`ada@${name}`)).toEqual(paused);
  await setAccountStatus(testTable(), account.id, "closed", new Date());
  expect(await whereTo(`ada@${name}`)).toEqual(unknown);
});

test("an address that nobody has says that the MX is elsewhere, until a check finds our MX, and after it is gone", async () => {
  const { account, name, ada, to } = await scene();
  const elsewhere = { ...none, is_mx_here: false };
  const seen = async (members: object) => {
    await setStored(account, name, { ...members });
    expect(await whereTo(`ada@${name}`)).toEqual(to("mailbox", ada, "ada"));
    return whereTo(`nobody@${name}`);
  };
  expect(await seen({ dns_mode: "external", seen_right: ["spf"] })).toEqual(elsewhere);
  expect(await seen({ seen_right: ["mx", "spf"] })).toEqual(none);
  expect(await seen({ status: "degraded", broken_records: ["spf"] })).toEqual(none);
  expect(await seen({ broken_records: ["mx"] })).toEqual(elsewhere);
  const moving = { dns_mode: "hosted", status: "pending_delegation", broken_records: [] };
  expect(await seen({ ...moving, seen_right: ["spf"] })).toEqual(elsewhere);
  expect(await seen({ status: "active" })).toEqual(none);
  expect(await seen({ status: "degraded", broken_records: ["ns", "mx"] })).toEqual(elsewhere);
});

test("an account gets no mail for a name that it has not proved", async () => {
  const { account, name, ada, to } = await scene({ status: "pending_delegation" });
  expect(await whereTo(`ada@${name}`)).toEqual(unknown);
  await delegated(account, name);
  await domainsRequest(account, "POST", `/${name}/verify`);
  expect(await whereTo(`ada@${name}`)).toEqual(to("mailbox", ada, "ada"));
});

test("a degraded domain still gets its mail, and a domain that has expired or is being deleted does not", async () => {
  const { account, name, ada, to } = await scene();
  await setStored(account, name, { status: "degraded" });
  expect(await whereTo(`ada@${name}`)).toEqual(to("mailbox", ada, "ada"));
  await setStored(account, name, { status: "expired" });
  expect(await whereTo(`ada@${name}`)).toEqual(unknown);
  await setStored(account, name, { status: "releasing", is_open: false });
  expect(await whereTo(`ada@${name}`)).toEqual(unknown);
});

test("a mailbox is full when its used space reaches its quota", async () => {
  const { account, name, ada, to } = await scene();
  const full: boolean[] = [];
  for (const used of [999, 1_000, 1_001]) {
    await write({ update: mailboxKey(account.id, ada), set: { quota: 1_000, used } });
    const { is_full, quota_bytes } = await whereTo(`ada@${name}`);
    expect(quota_bytes).toBe(1_000);
    full.push(is_full === true);
  }
  expect(full).toEqual([false, true, true]);
  expect(await whereTo(`ada@${name}`)).toEqual({ ...to("mailbox", ada, "ada"), quota_bytes: 1_000, is_full: true });
});

test("a found address can be cached for a minute, an unknown address cannot, and the address is required", async () => {
  const { name } = await scene();
  const kept = async (address: string) =>
    (await askMailRoute("recipient", `address=${address}`)).headers["cache-control"];
  expect(await kept(`ada@${name}`)).toBe("private, max-age=60");
  expect(await kept(`nobody@${name}`)).toBe("no-store");
  expect(await kept("ada@example.org")).toBe("no-store");
  const { status, body } = await askMailRoute("recipient", "");
  expect([status, body]).toEqual([
    422,
    { detail: [{ loc: ["query", "address"], msg: "This is required", type: "missing" }] },
  ]);
});

test("every endpoint refuses an unknown parameter, also beside a known one", async () => {
  const { name } = await scene();
  for (const [route, query] of [
    ["recipient", `address=ada@${name}`],
    ["sender", `login=ada@${name}&from=ada@${name}`],
    ["dkim", `domain=${name}`],
    ["revocations", "limit=1"],
  ] as const) {
    const { status, body } = await askMailRoute(route, `${query}&adress=ada`);
    expect([status, body], route).toMatchObject([
      422,
      { detail: [{ loc: ["query", "adress"], type: "extra_forbidden" }] },
    ]);
  }
});

test("answers 422 to a parameter that is there twice", async () => {
  const { status, body } = await askMailRoute("recipient", "address=ada@example.com&address=bob@example.com");
  expect([status, body]).toMatchObject([
    422,
    { detail: [{ loc: ["query", "address"], msg: "Give this parameter once" }] },
  ]);
});

test("answers 401 to a caller without the key of the mail servers", async () => {
  const { name } = await scene();
  for (const headers of [{}, { "x-mail-key": "wrong" }] as Record<string, string>[]) {
    expect(await whereTo(`ada@${name}`, headers)).toMatchObject({ status: 401, code: "unauthenticated" });
  }
});

test("a mailbox is found by its id and its account's id until it is deleted, and not with another account's id", async () => {
  const { account, ada, to } = await scene();
  const byIds = async (accountId: string, mailboxId: string) => {
    const { body } = await askMailRoute("recipient", `account_id=${accountId}&mailbox_id=${mailboxId}`);
    return body["kind"] === "none" ? "none" : body;
  };
  const { status, mailbox_status, ...found } = to("mailbox", ada, "ada");
  expect(status).toBe(200);
  expect(await byIds(account.id, ada)).toEqual({ ...found, status: mailbox_status });
  expect(await byIds((await newAccount()).id, ada)).toBe("none");
  expect(await byIds(account.id, "nonsense")).toBe("none");
  expect((await askMailRoute("recipient", `mailbox_id=${ada}`)).status).toBe(422);
  await send(account, "DELETE", at(ada));
  expect(await byIds(account.id, ada)).toBe("none");
});
