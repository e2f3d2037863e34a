import { expect, test } from "vitest";

import type { ForwardingRule } from "../../../shared/mail/forwarding/rule.ts";
import { sendVerification } from "../../../shared/mail/forwarding/send.ts";
import { mailedKey } from "../../../shared/mail/forwarding/target.ts";
import { write } from "../../support/domain-work.ts";
import { storedOf } from "../../support/entry-points.ts";
import {
  adding,
  enter,
  type Asking,
  mailsTo,
  ofRule,
  otherThan,
  press,
  ruleNow,
  ruleTo,
  sendWork,
  stranger,
} from "../../support/forwarding.ts";
import { whereTo } from "../../support/mail-routes.ts";
import { home, send, stocked } from "../../support/mailboxes.ts";
import { newAccount, type Account } from "../../support/world.ts";

/** Creates a rule for several targets as the account's owner. */
async function ruleToAll(account: Account, target_emails: string[], scope: object = {}): Promise<ForwardingRule> {
  const { status, body, text } = await send(account, "POST", "forwarding", { target_emails, ...scope });
  if (status !== 201) throw new Error(text);
  return body as ForwardingRule;
}

/** Sends the waiting mails of a rule. Returns the last mail to each of `targets`. */
async function asked(account: Account, { id }: ForwardingRule, targets: readonly string[]): Promise<Asking[]> {
  await sendVerification(account.id, id, sendWork());
  const mails = await Promise.all(targets.map(async (target) => (await mailsTo(target)).at(-1)));
  return mails.map((mail) => mail ?? { mail: undefined as never, token: "", code: "" });
}

const update = (account: Account, id: string, body: object) => send(account, "PATCH", ofRule(id), body);

const statesOf = ({ targets }: ForwardingRule): Record<string, string> =>
  Object.fromEntries(targets.map(({ email, verification_state }) => [email, verification_state]));

const statesNow = async (account: Account, id: string) => statesOf((await ruleNow(account, id)) as ForwardingRule);

test("each target gets its own mail, and the link in a mail verifies only its target", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, ["ada", "bob"]);
  const [one, other] = [stranger("one"), stranger("other")];
  const rule = await ruleToAll(account, [one, other, `ada@${name}`], { domain: name });
  expect(rule).toMatchObject({ target_email: one, verification_state: "pending", verification_required: true });
  expect(statesOf(rule)).toEqual({ [one]: "pending", [other]: "pending", [`ada@${name}`]: "internal" });
  const [, second] = await asked(account, rule, [one, other]);
  const { body } = await press(second?.token ?? "");
  expect(body).toEqual({ target_email: "o***@e***.com", verification_state: "verified" });
  expect(await statesNow(account, rule.id)).toEqual({
    [one]: "pending",
    [other]: "verified",
    [`ada@${name}`]: "internal",
  });
  expect((await ruleNow(account, rule.id))?.verification_state).toBe("pending");
  const { copies } = (await whereTo(`bob@${name}`)) as unknown as { copies: { address: string }[] };
  expect(copies.map(({ address }) => address).toSorted()).toEqual([other, `ada@${name}`].toSorted());
  expect((await press(second?.token ?? "")).status).toBe(422);
});

test("a code is tried for the named target, and each target has five tries of its own", async () => {
  const account = await newAccount();
  const [one, other] = [stranger("one"), stranger("other")];
  const rule = await ruleToAll(account, [one, other]);
  const [first, second] = await asked(account, rule, [one, other]);
  const confirm = (code = "", target_email?: string) =>
    send(account, "POST", ofRule(rule.id, "/verification/confirm"), { code, target_email });
  expect((await confirm(first?.code)).body.detail).toMatchObject([
    { loc: ["body", "target_email"], type: "value_error" },
  ]);
  expect((await confirm(first?.code, stranger())).body.detail).toMatchObject([{ loc: ["body", "target_email"] }]);
  expect((await confirm(otherThan(second?.code ?? ""), other)).body).toMatchObject({ tries_left: 4 });
  expect((await confirm(first?.code, one.toUpperCase())).body.verification_state).toBe("verified");
  expect((await confirm(first?.code, one)).body.code).toBe("verification_not_needed");
  expect((await enter(account, rule.id, otherThan(second?.code ?? ""))).body).toMatchObject({ tries_left: 3 });
  const { body } = await enter(account, rule.id, second?.code ?? "");
  expect(statesOf(body)).toEqual({ [one]: "verified", [other]: "verified" });
});

test("refuses missing, contradicting, repeated and invalid targets, and stores nothing", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const before = await storedOf(account);
  const [one, other] = [stranger("one"), stranger("other")];
  const eleven = Array.from({ length: 11 }, (_, index) => stranger(`n${index}`));
  const cases: [body: object, loc: (string | number)[]][] = [
    [{}, ["body", "target_email"]],
    [{ target_email: one, target_emails: [other, one] }, ["body", "target_email"]],
    [{ target_emails: [] }, ["body", "target_emails"]],
    [{ target_emails: eleven }, ["body", "target_emails"]],
    [{ target_emails: [one, other, ` ${one.toUpperCase()} `] }, ["body", "target_emails", 2]],
    [{ target_emails: [one, "ada"] }, ["body", "target_emails", 1]],
    [{ target_emails: [one, `typo@${name}`] }, ["body", "target_emails", 1]],
  ];
  for (const [body, loc] of cases) {
    const { status, body: answer } = await send(account, "POST", "forwarding", body);
    expect([status, answer.detail[0].loc], JSON.stringify(body)).toEqual([422, loc]);
  }
  expect(await storedOf(account)).toEqual(before);
  const both = await send(account, "POST", "forwarding", { target_email: one, target_emails: [one, other] });
  expect([both.status, both.body.targets.length]).toEqual([201, 2]);
});

test("a removed target gets no copies, and must agree again when it is added again", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, ["ada"]);
  const [stays, goes] = [stranger("stays"), stranger("goes")];
  const rule = await ruleToAll(account, [stays, goes], { domain: name });
  const mails = await asked(account, rule, [stays, goes]);
  for (const { token } of mails) expect((await press(token)).status).toBe(200);
  expect(statesOf((await update(account, rule.id, { target_emails: [stays] })).body)).toEqual({ [stays]: "verified" });
  expect(await whereTo(`ada@${name}`)).toMatchObject({ copies: [{ address: stays }] });
  await write({ delete: mailedKey(goes) });
  const { body } = await update(account, rule.id, { target_emails: [goes, stays] });
  expect(body).toMatchObject({ target_email: goes, verification_state: "pending", verification_verified_at: null });
  expect(statesOf(body)).toEqual({ [goes]: "pending", [stays]: "verified" });
  expect(await whereTo(`ada@${name}`)).toMatchObject({ copies: [{ address: stays }] });
  const [again] = await asked(account, body, [goes]);
  expect(again?.token).not.toBe(mails[1]?.token);
  expect((await press(again?.token ?? "")).status).toBe(200);
  expect(await statesNow(account, rule.id)).toEqual({ [goes]: "verified", [stays]: "verified" });
});

test("the link and the code of a removed target stop working, and those of the other targets still work", async () => {
  const account = await newAccount();
  const [first, second, third] = [stranger("first"), stranger("second"), stranger("third")];
  const rule = await ruleToAll(account, [first, second]);
  const [old, other] = await asked(account, rule, [first, second]);
  const { body } = await update(account, rule.id, { target_emails: [second, third] });
  expect(body).toMatchObject({ target_email: second, verification_sent_at: rule.targets[1]?.verification_sent_at });
  expect((await press(old?.token ?? "")).status).toBe(422);
  expect((await press(other?.token ?? "")).status).toBe(200);
  expect(await statesNow(account, rule.id)).toEqual({ [second]: "verified", [third]: "pending" });
  const [, newcomer] = await asked(account, rule, [first, third]);
  expect((await press(newcomer?.token ?? "")).status).toBe(200);
  expect(await mailsTo(first)).toHaveLength(1);
});

test("`target_email` changes only the first target, even if the new value is another target of the rule", async () => {
  const account = await newAccount();
  const [first, second, third] = [stranger("first"), stranger("second"), stranger("third")];
  const rule = await ruleToAll(account, [first, second]);
  const emails = async (body: object): Promise<string[]> =>
    (await update(account, rule.id, body)).body.targets.map(({ email }: { email: string }) => email);
  expect(await emails({ target_email: third })).toEqual([third, second]);
  expect(await emails({ target_email: second })).toEqual([second]);
  expect(await emails({ target_emails: [second] })).toEqual([second]);
  expect((await update(account, rule.id, {})).body.detail).toMatchObject([{ loc: ["body", "target_email"] }]);
});

test("asks the named target again, or all targets that have not agreed", async () => {
  const account = await newAccount();
  const [one, other, third] = [stranger("one"), stranger("other"), stranger("third")];
  const rule = await ruleToAll(account, [one, other, third]);
  const [first] = await asked(account, rule, [one]);
  await press(first?.token ?? "");
  const ask = (body: object) => send(account, "POST", ofRule(rule.id, "/verification/send"), body);
  expect((await ask({})).body).toMatchObject({ status: 429, code: "rate_limited" });
  expect((await ask({ target_email: one })).body.code).toBe("verification_not_needed");
  expect((await ask({ target_email: stranger() })).body.detail).toMatchObject([{ loc: ["body", "target_email"] }]);
  await write({ delete: mailedKey(other) });
  await write({ delete: mailedKey(third) });
  expect((await ask({ target_email: other.toUpperCase() })).status).toBe(200);
  // The limit on mails stops the mail to `other`, but not the mail to `third`.
  expect((await ask({})).status).toBe(200);
  await asked(account, rule, []);
  expect(await Promise.all([one, other, third].map(async (to) => (await mailsTo(to)).length))).toEqual([1, 2, 2]);
});

test("two spellings of one recipient's address get one mail", async () => {
  const account = await newAccount();
  const target = stranger("ada");
  const tagged = target.replace("@", "+lists@");
  const rule = await ruleToAll(account, [target, tagged]);
  expect(rule.targets.map(({ verification_sent_at: at }) => at === null)).toEqual([false, true]);
  expect(rule.targets[1]?.status_reason).toContain("verification.send in a minute");
  await asked(account, rule, []);
  expect([...(await mailsTo(target)), ...(await mailsTo(tagged))]).toHaveLength(1);
});

test("a target that refuses mail does not stop the mail to the other target", async () => {
  const account = await newAccount();
  const [refuses, other] = [`refused-${stranger()}`, stranger()];
  const rule = await ruleToAll(account, [refuses, other]);
  const [, mail] = await asked(account, rule, [refuses, other]);
  expect((await press(mail?.token ?? "")).status).toBe(200);
  const now = await ruleNow(account, rule.id);
  expect(statesOf(now as ForwardingRule)).toEqual({ [refuses]: "expired", [other]: "verified" });
  expect(now).toMatchObject({ verification_state: "expired", status_reason: expect.stringContaining("refused") });
});

test("an agreement to a mail covers every rule of the account that has the address among its targets", async () => {
  const account = await newAccount();
  const target = stranger();
  const { name } = await home(account);
  const first = await ruleTo(account, target);
  const second = await ruleToAll(account, [stranger(), target], { domain: name });
  const [mail] = await asked(account, first, [target]);
  expect((await press(mail?.token ?? "")).status).toBe(200);
  expect((await statesNow(account, second.id))[target]).toBe("verified");
});

test("a target that got no mail has no reason for it any more after the recipient agreed to the mail of another rule", async () => {
  const account = await newAccount();
  const target = stranger();
  const { name } = await home(account);
  const first = await ruleTo(account, target);
  const second = await ruleTo(account, target, { domain: name });
  expect(second.status_reason).toContain("No mail was sent");
  const [mail] = await asked(account, first, [target]);
  await press(mail?.token ?? "");
  expect(await ruleNow(account, second.id)).toMatchObject({ verification_state: "verified", status_reason: null });
});

test("a scope can have one rule to a target, wherever the target is in the list of targets", async () => {
  const account = await newAccount();
  const target = stranger();
  const rule = await ruleToAll(account, [stranger(), target]);
  expect((await adding(account, target)).body).toMatchObject({ code: "forwarding_exists", conflicts_with: rule.id });
  const other = await ruleTo(account, stranger());
  const { body } = await update(account, other.id, { target_emails: [other.target_email, target] });
  expect(body).toMatchObject({ code: "forwarding_exists", conflicts_with: rule.id });
});

test("a deleted rule leaves nothing of its ten targets", async () => {
  const account = await newAccount();
  const targets = Array.from({ length: 10 }, (_, index) => stranger(`n${index}`));
  const rule = await ruleToAll(account, targets);
  const [mail] = await asked(account, rule, targets);
  expect((await send(account, "DELETE", ofRule(rule.id))).status).toBe(200);
  expect((await storedOf(account)).filter(({ SK }) => SK.startsWith("FORWARD"))).toEqual([]);
  expect((await press(mail?.token ?? "")).status).toBe(422);
});
