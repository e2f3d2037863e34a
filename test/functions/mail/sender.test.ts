import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { ipKey } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import { holderKey } from "../../../shared/domains/domain.ts";
import { activeHost, activeIp, newOption, send as sendIp } from "../../support/dedicated-ips.ts";
import { setStored, write } from "../../support/domain-work.ts";
import { funded, uniqueName } from "../../support/domains.ts";
import { withFault } from "../../support/faults.ts";
import { ago, reportUsage } from "../../support/mail-reports.ts";
import { askMailRoute, sendsAs } from "../../support/mail-routes.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { publicIp } from "../../support/reverse-dns.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

async function scene(options: { account?: Account; name?: string; status?: string } = {}) {
  const { account = await newAccount(), ...rest } = options;
  const domain = await home(account, rest);
  const { name } = domain;
  const [ada = "", bob = ""] = await stocked(account, name, ["ada", "bob"]);
  const alias = (mailbox: string, text: string) => send(account, "POST", at(mailbox, "/aliases"), { alias: text });
  return { account, domain, name, ada, bob, alias, login: `ada@${name}` };
}

const verdict = async (login: string, from: string) =>
  (await askMailRoute("sender", new URLSearchParams({ login, from }).toString())).body;

test("a mailbox can send from its address and its aliases, with or without a tag, and from the null reverse-path", async () => {
  const label = uniqueName("s", "example-x.com");
  const { account, domain, name, ada, alias, login } = await scene({ name: `bücher-${label}` });
  await alias(ada, "sales");
  const locals = ["ada", "ADA", "ada+x", "ada+x+y", "sales", "Sales+lists", `ada+${"x".repeat(200)}`];
  for (const from of [...locals.map((local) => `${local}@${name}`), `ada@BÜCHER-${label}.`, `<ada+x@${name}>`, ""]) {
    expect([from, await sendsAs(login, from)]).toEqual([from, "allowed"]);
  }
  expect(await sendsAs(`sales@${name}`, login)).toBe("allowed");
  expect(await verdict(login.toUpperCase(), `sales@${name}`)).toEqual({
    allowed: true,
    mailbox_id: ada,
    account_id: account.id,
    domain_id: domain.id,
    address: login,
    dkim: { domain: name, selector: "hm1" },
    route: { kind: "shared" },
  });
});

test("a mailbox cannot send from another mailbox's address, an unused address, another domain or an invalid address", async () => {
  const { account, name, ada, bob, alias, login } = await scene();
  await alias(bob, "sales");
  const [other, stranger] = [await scene({ account }), await scene()];
  for (const from of [
    `bob@${name}`,
    `sales@${name}`,
    `bob+ada@${name}`,
    `nobody@${name}`,
    `*@${name}`,
    `+ada@${name}`,
    `ada@${other.name}`,
    `ada@${stranger.name}`,
    `ada@www.${name}`,
    "ada@example.org",
    `"ada"@${name}`,
    `ada@${name}@${name}`,
    `Ada <ada@${name}>`,
    `ada+x\r\nBcc:eve@${name}`,
    `ada@${name}\r\n`,
    `ada+\u0000@${name}`,
    "ada",
    "@",
    "<>",
  ]) {
    expect([from, await sendsAs(login, from)]).toEqual([from, "not_yours"]);
  }
  const spaced = await askMailRoute("sender", `login=${login}&from=ada%2Bx%20y@${name}`);
  expect(spaced.body).toMatchObject({ allowed: false, reason: { code: "not_yours" } });
  expect(await verdict(login, `bob@${name}`)).toEqual({
    allowed: false,
    reason: { code: "not_yours", message: "This login may not send from this address." },
    mailbox_id: ada,
    account_id: account.id,
    domain_id: expect.any(String),
    address: login,
  });
});

test("the mailbox with the catch-all can send from every free address of the domain", async () => {
  const { account, name, ada, bob, alias } = await scene();
  await alias(bob, "*");
  await alias(ada, "sales");
  const login = `bob@${name}`;
  for (const local of ["bob", "nobody", "nobody+x", "*", "büro", "+x"]) {
    expect([local, await sendsAs(login, `${local}@${name}`)]).toEqual([local, "allowed"]);
  }
  for (const local of ["ada", "ada+x", "sales"]) expect(await sendsAs(login, `${local}@${name}`)).toBe("not_yours");
  for (const local of ['"ada"', '"a\\da"', "ada\\", "(c)ada", "ada(c)", '"ada"+x', "a,ada", "a;ada", "a:ada", "<ada"]) {
    expect([local, await sendsAs(login, `${local}@${name}`)]).toEqual([local, "not_yours"]);
    expect([local, await sendsAs(login, `<${local}@${name}>`)]).toEqual([local, "not_yours"]);
  }
  expect(await sendsAs(login, `nobody@${(await home(account)).name}`)).toBe("not_yours");
  expect(await sendsAs(`ada@${name}`, `nobody@${name}`)).toBe("not_yours");
  expect(await sendsAs(`nobody@${name}`, `nobody@${name}`)).toBe("not_yours");
  expect(await sendsAs(`*@${name}`, `*@${name}`)).toBe("not_yours");
});

test("a login that is not a mailbox cannot send, and the answer names no mailbox", async () => {
  const { account, name, ada, login } = await scene();
  const refused = {
    allowed: false,
    reason: { code: "not_yours", message: "This login may not send from this address." },
  };
  for (const user of ["", "ada", `nobody@${name}`, `ada+x@${name}`, `ada@${uniqueName()}`]) {
    expect(await verdict(user, login), user).toEqual(refused);
    expect(await verdict(user, ""), user).toEqual(refused);
  }
  await send(account, "DELETE", at(ada));
  expect(await verdict(login, login)).toEqual(refused);
});

test("a refusal says that the mailbox is paused, the account is suspended or closed, or the domain is not ready", async () => {
  const { account, name, ada, login } = await scene();
  await send(account, "PATCH", at(ada, "/active"), { active: false });
  expect(await sendsAs(login, login)).toBe("mailbox_paused");
  await send(account, "PATCH", at(ada, "/active"), { active: true });
  const seen: [state: string, verdict: string][] = [];
  for (const status of ["degraded", "expired", "suspended", "pending_delegation", "active"]) {
    await setStored(account, name, { status });
    seen.push([`domain ${status}`, await sendsAs(login, login)]);
  }
  for (const firm of [false, true]) {
    await write({ update: holderKey(name), set: { firm } });
    seen.push([`hold ${firm ? "firm" : "not firm"}`, await sendsAs(login, login)]);
  }
  for (const status of ["past_due", "suspended", "active", "closed"] as const) {
    await setAccountStatus(testTable(), account.id, status, new Date());
    seen.push([`account ${status}`, await sendsAs(login, login)]);
  }
  expect(seen).toEqual([
    ["domain degraded", "allowed"],
    ["domain expired", "domain_not_ready"],
    ["domain suspended", "domain_not_ready"],
    ["domain pending_delegation", "domain_not_ready"],
    ["domain active", "allowed"],
    ["hold not firm", "domain_not_ready"],
    ["hold firm", "allowed"],
    ["account past_due", "allowed"],
    ["account suspended", "account_suspended"],
    ["account active", "allowed"],
    ["account closed", "account_suspended"],
  ]);
});

test("a request about queued mail has no login, and is answered for the mailbox that can send from the address now", async () => {
  const { account, name, ada, bob, alias } = await scene();
  const queued = async (from: string) => (await askMailRoute("sender", `queued=true&from=${from}`)).body;
  const code = async (from: string) => ((await queued(from))["reason"] as { code: string }).code;
  expect(await queued(`ada+x@${name}`.replace("+", "%2B"))).toMatchObject({ allowed: true, address: `ada@${name}` });
  expect(await code(`sales@${name}`)).toBe("not_yours");
  await alias(bob, "*");
  for (const local of ["sales", '".sales"']) {
    expect(await queued(`${local}@${name}`)).toMatchObject({ allowed: true, mailbox_id: bob, account_id: account.id });
  }
  expect(await queued(`"ada"@${name}`)).toMatchObject({ allowed: true, mailbox_id: ada });
  await send(account, "PATCH", at(ada, "/active"), { active: false });
  expect(await code(`ada@${name}`)).toBe("mailbox_paused");
  for (const local of ["ada", '"ada"']) expect(await code(`${local}@${uniqueName()}`)).toBe("domain_not_ready");
  expect([await code(""), await code("ada")]).toEqual(["not_yours", "not_yours"]);
  await setAccountStatus(testTable(), account.id, "closed", new Date());
  for (const local of ["sales", '".sales"']) {
    const suspended = { mailbox_id: bob, reason: { code: "account_suspended" } };
    expect(await queued(`${local}@${name}`)).toMatchObject(suspended);
  }
});

test("mail goes out by the managed IP or the own host of the domain while the IP is active", async () => {
  const { option_id } = await newOption(1, { relay: "[fd00::7]:2526" });
  const account = await funded(await newAccount());
  const [managed, ips] = [await activeIp(account, option_id), [publicIp(), publicIp(6)]];
  const own = await activeHost(account, ips);
  const [one, two] = [await scene({ account }), await scene({ account })];
  await sendIp(account, "POST", `/${managed.id}/domains/assign`, { domains: [one.name] });
  await sendIp(account, "POST", `/${own.id}/domains/assign`, { domains: [two.name] });
  expect((await verdict(one.login, one.login))["route"]).toEqual({
    kind: "dedicated",
    dedicated_ip_id: managed.id,
    source_ips: managed.ip_addresses.map(({ ip }) => ip),
    relay: "[fd00::7]:2526",
  });
  expect((await verdict(two.login, two.login))["route"]).toEqual({
    kind: "own_host",
    dedicated_ip_id: own.id,
    source_ips: ips,
    relay: `${ips[0]}:587`,
    relay_name: own.ip_addresses[0]?.rdns,
    relay_login: { user: own.id, password: expect.stringMatching(/^[0-9A-Za-z]{27}$/) },
  });
  await write({ update: ipKey(account.id, managed.id), set: { status: "degraded" } });
  expect((await verdict(one.login, one.login))["route"]).toEqual({ kind: "shared" });
});

test("costs three reads without a dedicated IP", async () => {
  const { login } = await scene();
  const { calls } = await withFault(undefined, -1, () => sendsAs(login, login));
  expect(calls).toEqual(["BatchGetItem", "BatchGetItem", "BatchGetItem"]);
});

test("a yes can be cached for 30 seconds and a no cannot; both addresses and the mail servers' key are required", async () => {
  const { login } = await scene();
  expect((await askMailRoute("sender", `login=${login}&from=bob`)).headers["cache-control"]).toBe("no-store");
  expect((await askMailRoute("sender", `login=${login}&from=${login}`)).headers["cache-control"]).toBe(
    "private, max-age=30",
  );
  for (const [query, missing] of [
    [`from=${login}`, "login"],
    [`login=${login}`, "from"],
  ] as const) {
    const { status, body } = await askMailRoute("sender", query);
    expect([status, body]).toEqual([
      422,
      { detail: [{ loc: ["query", missing], msg: "This is required", type: "missing" }] },
    ]);
  }
  const { value, calls } = await withFault(undefined, -1, () => askMailRoute("sender", `login=${login}&from=`, {}));
  expect([value.status, calls]).toEqual([401, []]);
});

test("no mail goes to a recipient that the account has suppressed", async () => {
  const { account, login } = await scene();
  await send(account, "POST", "suppressions", { email: "bob@far.example" });
  const ask = async (to: string) =>
    (await askMailRoute("sender", new URLSearchParams({ login, from: login, to }).toString())).body;
  expect(await ask("BOB@far.example")).toMatchObject({
    allowed: false,
    is_suppressed: true,
    reason: { code: "suppressed" },
    account_id: account.id,
  });
  for (const to of ["<Bob@far.example>", '"bob"@far.example', '<"b\\o\\b"@FAR.example.>']) {
    expect(await ask(to), to).toMatchObject({ allowed: false, reason: { code: "suppressed" } });
  }
  for (const to of [
    "carl@far.example",
    "bob+x@far.example",
    '"bob smith"@far.example',
    `${"b".repeat(91)}@far.example`,
    `${"é".repeat(256)}@far.example`,
    "bob@far_away.example",
    "bob@r3---sn.example",
    "bob@xn--i-7iq.ws",
    "bob@[8.8.8.8]",
    "<bob@[IPv6:2606:4700::1111]>",
    "",
  ]) {
    expect(await ask(to), to).toMatchObject({ allowed: true, is_suppressed: false });
  }
  for (const to of [
    "nobody",
    "bo\\b@far.example",
    "@x.example:bob@far.example",
    "(x)bob@far.example",
    '"bob@far.example',
    "bob@192.0.2.1",
    "bob@[far.example]",
    "bob@far..example",
    `bob@${"b".repeat(64)}.example`,
    `${"é".repeat(256)}b@far.example`,
    "bob@[127.0.0.1]",
    "bob@[10.0.0.5]",
  ]) {
    expect(await ask(to), to).toMatchObject({ allowed: false, reason: { code: "bad_recipient" } });
  }
  const { login: theirs } = await scene();
  expect(await verdict(theirs, theirs)).not.toHaveProperty("is_suppressed");
});

test("a managed dedicated IP has a daily limit during its warm-up", async () => {
  const { account, name, ada, login } = await scene();
  await funded(account);
  const { id } = await activeIp(account);
  await sendIp(account, "POST", `/${id}/domains/assign`, { domains: [name] });
  const sent = (recipients: number) =>
    reportUsage({ sent: [{ account_id: account.id, mailbox_id: ada, address: login, at: ago(0), recipients }] });
  await sent(49);
  expect(await verdict(login, login)).toMatchObject({ allowed: true, limit: { per_day: 50, sent_today: 49 } });
  await sent(1);
  expect(await verdict(login, login)).toMatchObject({
    allowed: false,
    reason: { code: "warm_up_limit" },
    limit: { per_day: 50, sent_today: 50 },
  });
  // Queued mail was counted when it was accepted.
  const queued = (await askMailRoute("sender", `queued=true&from=${login}`)).body;
  expect(queued).toMatchObject({ allowed: true, limit: { per_day: 50, sent_today: 50 } });
  // Mail counts for the IP from which it left, even if the domain has no IP now, and for no IP of another account.
  await sendIp(account, "POST", `/${id}/domains/unassign`, { domains: [name] });
  const { id: foreign } = await activeIp(await funded(await newAccount()));
  const mine = { account_id: account.id, mailbox_id: ada, address: login, at: ago(0), recipients: 7 };
  await reportUsage({
    sent: [
      { ...mine, dedicated_ip_id: id },
      { ...mine, dedicated_ip_id: foreign },
      { ...mine, dedicated_ip_id: randomUUID() },
      mine,
    ],
  });
  await sendIp(account, "POST", `/${id}/domains/assign`, { domains: [name] });
  // Mail that left from the shared addresses counts for no IP.
  await reportUsage({ sent: [{ ...mine, dedicated_ip_id: null }] });
  expect(await verdict(login, login)).toMatchObject({ limit: { per_day: 50, sent_today: 57 } });
  const { body } = await send(account, "GET", `statistics?domain=${name}`);
  expect(body.total.sent).toBe(85);
  await write({ update: ipKey(account.id, id), remove: ["activated_at"] });
  expect(await verdict(login, login)).toMatchObject({ allowed: true, route: { kind: "dedicated" } });
});
