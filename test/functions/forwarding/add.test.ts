import { randomUUID } from "node:crypto";

import { expect, onTestFinished, test, vi } from "vitest";

import { dayOf } from "../../../shared/core/time.ts";
import { sendVerification } from "../../../shared/mail/forwarding/send.ts";
import { setStored, write } from "../../support/domain-work.ts";
import { uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import {
  adding,
  agreedRule,
  mailed,
  mailsTo,
  press,
  ruleNow,
  ruleTo,
  sendWork,
  stranger,
} from "../../support/forwarding.ts";
import { whereTo } from "../../support/mail-routes.ts";
import { at, home, send, statusesOf, stocked } from "../../support/mailboxes.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("a rule to an external address waits for its recipient, and a mail asks the recipient", async () => {
  const account = await newAccount();
  const { name, id } = await home(account);
  const target = stranger("Ada.L");
  const { status, body } = await adding(account, ` ${target.toUpperCase()} `, { domain: name });
  expect(status).toBe(201);
  const waiting = {
    verification_required: true,
    verification_state: "pending",
    status_reason: null,
    verification_sent_at: body.created_at,
    verification_expires_at: new Date(Date.parse(body.created_at) + 48 * 3_600_000).toISOString(),
    verification_verified_at: null,
  };
  expect(body).toEqual({
    id: expect.any(String),
    scope_type: "domain",
    scope_id: id,
    address: null,
    target_email: target.toLowerCase(),
    active: true,
    keep_copy: true,
    ...waiting,
    targets: [{ email: target.toLowerCase(), ...waiting }],
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    updated_at: body.created_at,
  });
  const { mail, token, code } = await mailed(account, body);
  expect(mail.to).toBe(target.toLowerCase());
  expect(mail.text).toContain(account.name);
  expect(mail.text).toContain(name);
  expect(token).toMatch(/^[\w-]{22}$/);
  expect(code).toMatch(/^\d{6}$/);
  const stored = JSON.stringify(await storedOf(account));
  expect([stored.includes(token), stored.includes(`"${code}"`)]).toEqual([false, false]);
});

test("a target that is the address or an alias of a mailbox of the account is internal, and gets no mail", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const [ada = ""] = await stocked(account, name, ["ada"]);
  await send(account, "POST", at(ada, "/aliases"), { alias: "countess" });
  for (const local of ["ada", "countess", "ADA+lists"]) {
    const { status, body } = await adding(account, `${local}@${name}`);
    expect([status, body.verification_state, body.verification_required, body.verification_sent_at]).toEqual([
      201,
      "internal",
      false,
      null,
    ]);
    await sendVerification(account.id, body.id, sendWork());
    expect(await mailsTo(body.target_email)).toEqual([]);
  }
});

test("a mailbox of another account, or a mailbox out of the caller's sight, is asked like any address", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const [mine, theirs] = [await home(account), await home(other)];
  await stocked(account, mine.name, ["ada"]);
  await stocked(other, theirs.name, ["bob"]);
  expect((await adding(account, `bob@${theirs.name}`)).body.verification_state).toBe("pending");
  const manager = await newMember(account, { capability: "forwarding.manage" });
  const { body } = await adding(account, `ada@${mine.name}`, {}, manager);
  expect([body.verification_state, body.verification_required]).toEqual(["pending", true]);
});

const refused: [target: string, message: RegExp][] = [
  ["", /one address/],
  ["ada", /one address/],
  ["@example.com", /one address/],
  ["ada@", /one address/],
  ["ada@localhost", /one address/],
  ["ada@example.com,bob@example.com", /one address/],
  ["ada@192.0.2.1", /one address/],
  ["Ada <ada@example.com>", /before the @|one address/],
  ["a b@example.com", /has a character/],
  ['"ada"@example.com', /before the @/],
  ["ada..l@example.com", /before the @/],
  [".ada@example.com", /before the @/],
  ["bücher@example.com", /ASCII/],
  ["ada%victim@example.com", /before the @/],
  ["relay!ada@example.com", /before the @/],
  ["ada@mail.internal", /not on the public internet/],
  ["ada\r\nbcc:bob@example.com", /before the @|ASCII|one address/],
  [`${"a".repeat(65)}@example.com`, /one address/],
  [`ada@${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.example.com`, /254|one address/],
];

test("refuses an address to which no mail can be sent, and stores nothing", async () => {
  const account = await newRoomyAccount();
  const before = await storedOf(account);
  for (const [target, message] of refused) {
    const { status, body } = await adding(account, target);
    expect([status, body.detail], target).toEqual([
      422,
      [expect.objectContaining({ loc: ["body", "target_email"], msg: expect.stringMatching(message) })],
    ]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("an address of the account's own domain without a mailbox is refused", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const { status, body } = await adding(account, `typo@${name}`);
  expect([status, body.detail]).toEqual([
    422,
    [
      expect.objectContaining({
        loc: ["body", "target_email"],
        msg: expect.stringContaining("no mailbox has this address"),
      }),
    ],
  ]);
});

test("a domain and a workspace together are refused, and so is a domain that is `releasing`", async () => {
  const account = await newAccount();
  const { name, workspace_id } = await home(account);
  expect((await adding(account, stranger(), { domain: name, workspace_id })).body.detail).toMatchObject([
    { loc: ["body", "workspace_id"] },
  ]);
  await setStored(account, name, { status: "releasing", is_open: false });
  expect((await adding(account, stranger(), { domain: name })).body).toMatchObject({
    code: "domain_not_ready",
    domain_status: "releasing",
  });
});

test("a scope can have one rule to a target, even if several are added at once, and so can another scope", async () => {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const target = stranger();
  const answers = await Promise.all([1, 2, 3].map(() => adding(account, target, { domain: name })));
  expect(statusesOf(answers)).toEqual([201, 409, 409]);
  const made = answers.find(({ status }) => status === 201)?.body.id;
  const conflict = answers.find(({ status }) => status === 409)?.body;
  expect(conflict).toMatchObject({ code: "forwarding_exists", conflicts_with: made });
  expect((await adding(account, target)).status).toBe(201);
});

test("an agreement to a letter covers all rules of the account that the letter names, and no other rules", async () => {
  const [account, other] = [await newRoomyAccount(), await newAccount()];
  const target = stranger();
  const domains = [await home(account), await home(account)];
  const first = await ruleTo(account, target, { domain: domains[0]?.name });
  const second = await ruleTo(account, target, { domain: domains[1]?.name });
  const foreign = await ruleTo(other, target);
  for (const { verification_sent_at, status_reason } of [second, foreign]) {
    expect([verification_sent_at, status_reason]).toEqual([
      null,
      expect.stringContaining("verification.send in a minute"),
    ]);
  }
  const { mail, code } = await mailed(account, first);
  for (const { name } of domains) expect(mail.text).toContain(name);
  const late = await ruleTo(account, target);
  const agreed = await send(account, "POST", `forwarding/${first.id}/verification/confirm`, { code });
  expect(agreed.status).toBe(200);
  const states = async (of: typeof account, ...rules: { id: string }[]) =>
    Promise.all(rules.map(async ({ id }) => (await ruleNow(of, id))?.verification_state));
  expect(await states(account, first, second, late)).toEqual(["verified", "verified", "pending"]);
  expect(await states(other, foreign)).toEqual(["pending"]);
  expect(await mailsTo(target)).toHaveLength(1);
});

test("an address that only the catch-all receives counts as the catch-all's mailbox, and copies do not loop", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const [ada = ""] = await stocked(account, name, ["ada", "bob"]);
  await send(account, "POST", at(ada, "/aliases"), { alias: "*" });
  const { body } = await adding(account, `copies@${name}`, { domain: name });
  expect(body.verification_state).toBe("internal");
  const copiesOf = async (local: string) =>
    ((await whereTo(`${local}@${name}`)) as unknown as { copies: { address: string }[] }).copies;
  expect(await copiesOf("bob")).toEqual([{ address: `ada@${name}`, mailbox_id: ada }]);
  expect(await copiesOf("copies")).toEqual([]);
});

/** Stops the clock until the test ends, and returns the present day. */
function stoppedDay(): string {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
  return dayOf(new Date());
}

test("an account can send 200 letters a day, and rules beyond this limit wait without a letter", async () => {
  const account = await newAccount();
  const day = stoppedDay();
  await write({ put: { PK: `ACCOUNT#${account.id}`, SK: `LETTERS#${day}`, count: 199 } });
  expect((await ruleTo(account, stranger())).verification_sent_at).not.toBe(null);
  const waiting = await ruleTo(account, stranger());
  expect(waiting.verification_sent_at).toBe(null);
  const refused = await send(account, "POST", `forwarding/${waiting.id}/verification/send`);
  expect(refused.body).toMatchObject({ status: 429, code: "rate_limited" });
});

test("an account can send 40 letters a day to a registrable domain and all names below it", async () => {
  const account = await newAccount();
  const [name, day] = [uniqueName(), stoppedDay()];
  const letters = { PK: `ACCOUNT#${account.id}`, SK: `LETTERS#${day}` };
  await write({ put: { ...letters, count: 50, domains: { [name]: 39 } } });
  expect((await ruleTo(account, `ada@a.${name}`)).verification_sent_at).not.toBe(null);
  const waiting = await ruleTo(account, `bob@b.${name}`);
  expect(waiting.verification_sent_at).toBe(null);
  const refused = await send(account, "POST", `forwarding/${waiting.id}/verification/send`);
  expect(refused.body).toMatchObject({ status: 429, detail: expect.stringContaining("40 mails a day to one domain") });
  expect((await ruleTo(account, stranger())).verification_sent_at).not.toBe(null);
});

test("rules whose copies would come back are refused, however many other scopes are between them", async () => {
  const account = await newRoomyAccount();
  const domains = [await home(account), await home(account), await home(account)];
  for (const { name } of domains) await stocked(account, name, ["ada", "bob"]);
  const [a = "", b = "", c = ""] = domains.map(({ name }) => name);
  const [first, second] = [
    await ruleTo(account, `ada@${b}`, { domain: a }),
    await ruleTo(account, `ada@${c}`, { domain: b }),
  ];
  const { body } = await adding(account, `bob@${a}`, { domain: c });
  expect(body).toMatchObject({ status: 409, code: "forwarding_loop" });
  expect(new Set(body.conflicts_with)).toEqual(new Set([first.id, second.id]));
  expect((await adding(account, stranger(), { domain: c })).status).toBe(201);
  expect((await adding(account, `bob@${c}`, { domain: c })).status).toBe(201);
});

test("several rules of one scope are no loop, and a rule to a mailbox of its own scope is no loop", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, ["ada", "bob"]);
  expect((await adding(account, `ada@${name}`, { domain: name })).status).toBe(201);
  expect((await adding(account, `bob@${name}`, { domain: name })).status).toBe(201);
});

test("a repeated request with the same key makes no second rule, and sends no second mail", async () => {
  const account = await newAccount();
  const headers = { "idempotency-key": randomUUID() };
  const target_email = stranger();
  const post = () => send(account, "POST", "forwarding", { target_email }, { headers });
  const first = await post();
  await mailed(account, first.body);
  const again = await post();
  expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
  await mailed(account, first.body);
  expect(await mailsTo(target_email)).toHaveLength(1);
  expect((await send(account, "GET", "forwarding")).body.total).toBe(1);
});

test("a scope can have 20 rules", async () => {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  await stocked(
    account,
    name,
    Array.from({ length: 20 }, (_, index) => `box${index}`),
  );
  for (let index = 0; index < 20; index++) await ruleTo(account, `box${index}@${name}`, { domain: name });
  expect((await adding(account, stranger(), { domain: name })).body.code).toBe("limit_reached");
  expect((await adding(account, stranger())).status).toBe(201);
});

test("needs forwarding.manage on its scope", async () => {
  const account = await newAccount();
  const { id, name, workspace_id } = await home(account);
  const other = await home(account);
  const scope = { type: "domain" as const, id };
  const manager = await newMember(
    account,
    { capability: "forwarding.manage", scope },
    { capability: "forwarding.view", scope },
  );
  expect((await adding(account, stranger(), { domain: name }, manager)).status).toBe(201);
  expect((await adding(account, stranger(), { domain: other.name }, manager)).body.detail).toMatchObject([
    { loc: ["body", "domain"] },
  ]);
  expect((await adding(account, stranger(), { workspace_id }, manager)).status).toBe(422);
  const needed = { status: 403, code: "forbidden", required_capability: "forwarding.manage" };
  expect((await adding(account, stranger(), {}, manager)).body).toMatchObject(needed);
});

test("a rule is deleted with its domain, and the link in its letter stops working", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const rule = await agreedRule(account, stranger(), { domain: name });
  const waiting = await ruleTo(account, stranger(), { domain: name });
  const { token } = await mailed(account, waiting);
  expect((await send(account, "DELETE", `domains/${name}?purge=true`)).status).toBe(200);
  expect(await ruleNow(account, rule.id)).toBe(undefined);
  expect((await storedOf(account)).filter(({ SK }) => SK.startsWith("FORWARD"))).toEqual([]);
  expect((await press(token)).status).toBe(422);
});
