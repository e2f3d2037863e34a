import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { setStored } from "../../support/domain-work.ts";
import { uniqueName } from "../../support/domains.ts";
import { agreedRule, stranger } from "../../support/forwarding.ts";
import { logsIn } from "../../support/mail-routes.ts";
import { added, at, home, send } from "../../support/mailboxes.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { testTable } from "../../support/world.ts";
import { operator } from "./command-line.ts";

/** Runs a command of `mail` with `--json`. Resolves to its answer. */
async function shown(...words: string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await operator("mail", ...words, "--json");
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as Record<string, unknown>;
}

async function scene() {
  const account = await newRoomyAccount();
  const domain = await home(account);
  const { name } = domain;
  const { id, primary_email: email } = await added(account, name, "ada");
  return { account, domain, name, id, email };
}

test("mail address shows the answer of the endpoint for incoming mail, and the reason", async () => {
  const { account, domain, name, id, email } = await scene();
  expect(await shown("address", email.toUpperCase())).toEqual({
    kind: "mailbox",
    mailbox: email,
    mailbox_id: id,
    account_id: account.id,
    status: "active",
    quota_bytes: expect.any(Number),
    is_full: false,
    keep_copy: true,
    copies: [],
    why: "The address is the primary address of a mailbox.",
    account_status: "active",
    domain_id: domain.id,
    domain_status: "active",
    domain_verified_at: expect.any(String),
    is_proved: true,
    address_is: "mailbox",
    mailbox_status: "active",
  });
  await send(account, "POST", at(id, "/aliases"), { alias: "sales" });
  await agreedRule(account, stranger(), { domain: name, address: "list" });
  const kinds: [address: string, kind: string, why: string][] = [
    [`sales+x@${name}`, "alias", "alias"],
    [`list@${name}`, "forward", "rule"],
    [`abuse@${name}`, "role", "first mailbox"],
    [`nobody@${name}`, "none", "no mailbox has the address, and no forwarding rule"],
    [`ada@${uniqueName()}`, "unknown", "No account has an active domain"],
  ];
  for (const [address, kind, why] of kinds) {
    expect([address, await shown("address", "--address", address)]).toEqual([
      address,
      expect.objectContaining({ kind, why: expect.stringContaining(why) }),
    ]);
  }
  const { name: claimed } = await home(account, { status: "pending_delegation" });
  await added(account, claimed, "ada");
  expect(await shown("address", `ada@${claimed}`)).toMatchObject({
    kind: "unknown",
    why: expect.stringContaining("not proved"),
    is_proved: false,
  });
  await setAccountStatus(testTable(), account.id, "closed", new Date());
  expect(await shown("address", email)).toMatchObject({ kind: "unknown", why: "The account is closed." });
});

test("mail login shows the answer for each protocol, and lists the passwords without their text", async () => {
  const { account, name, id, email } = await scene();
  const { password } = (await send(account, "POST", at(id, "/reveal-credentials"))).body;
  const app = (await send(account, "POST", at(id, "/app-passwords"), { name: "Phone", protocols: ["imap"] })).body;
  const master = (await send(account, "POST", "credentials", { name: "Relay", generate: true })).body;
  expect(await shown("login", email)).toMatchObject({ known_networks: 0, last_login_from_known: null });
  expect(await logsIn(email, password, "imap")).toBe(true);
  const answer = await shown("login", email);
  expect(answer).toMatchObject({
    mailbox_id: id,
    logins: [
      { protocol: "smtp", accepted: true },
      { protocol: "imap", accepted: true },
      { protocol: "pop3", accepted: true },
    ],
    passwords: [
      { password: "mailbox", is_revealed: true },
      { password: "app", id: app.id, name: "Phone", protocols: ["imap"] },
      { password: "master", id: master.id, active: true },
    ],
    known_networks: 1,
    last_login_from_known: expect.stringMatching(/Z$/),
  });
  expect(answer["attempts_left_for_new_networks"]).toBeLessThan(60);
  for (const secret of [password, app.generated_secret, master.generated_secret, "$hmac", "$argon2"]) {
    expect(JSON.stringify(answer)).not.toContain(secret);
  }
  await setStored(account, name, { status: "suspended" });
  expect((await shown("login", email))["logins"]).toEqual([
    { protocol: "smtp", accepted: false, why: "The domain is not proved, or not ready to send." },
    { protocol: "imap", accepted: true },
    { protocol: "pop3", accepted: true },
  ]);
  await send(account, "PATCH", at(id, "/active"), { active: false });
  expect((await shown("login", email))["logins"]).toMatchObject([
    { why: "The mailbox is not active." },
    { why: "The mailbox is not active." },
    { why: "The mailbox is not active." },
  ]);
  expect(await shown("login", `nobody@${name}`)).toMatchObject({
    logins: [{ accepted: false, why: expect.stringContaining("No mailbox") }, {}, {}],
    passwords: [],
  });
});

test("mail sender shows the answer of the endpoint for outgoing mail", async () => {
  const { account, id, name, email } = await scene();
  expect(await shown("sender", "--login", email, "--from", `ada+x@${name}`)).toMatchObject({
    allowed: true,
    mailbox_id: id,
    dkim: { domain: name, selector: "hm1" },
    route: { kind: "shared" },
    domain_status: "active",
  });
  expect(await shown("sender", "--login", email, "--from", `bob@${name}`)).toMatchObject({
    allowed: false,
    reason: { code: "not_yours" },
    account_id: account.id,
  });
  await send(account, "POST", "suppressions", { email: "bob@far.example" });
  const to = (recipient: string) => shown("sender", "--login", email, "--from", email, "--to", recipient);
  expect(await to("bob@far.example")).toMatchObject({ allowed: false, reason: { code: "suppressed" } });
  expect(await to("eve@far.example")).toMatchObject({ allowed: true, is_suppressed: false });
});

test("a text that is not an address, and missing, unknown or too many arguments, end with exit code 2", async () => {
  const { email } = await scene();
  for (const words of [
    ["address"],
    ["address", "ada"],
    ["address", email, email],
    ["login", "--address", "ada"],
    ["sender", email],
    ["sender", "--login", email],
    ["sender", "--login", email, "--from", email, "--password", "x"],
  ]) {
    expect([words, (await operator("mail", ...words)).code]).toEqual([words, 2]);
  }
});
