import { expect, test } from "vitest";

import { getProof } from "../../../../shared/mail/forwarding/proof.ts";
import { sendVerification } from "../../../../shared/mail/forwarding/send.ts";
import { mailedKey } from "../../../../shared/mail/forwarding/target.ts";
import { MailRefused } from "../../../../shared/providers/mail/mail.ts";
import { write } from "../../../support/domain-work.ts";
import {
  agreedRule,
  enter,
  mailed,
  mailsTo,
  ofRule,
  press,
  ruleTo,
  sendWork,
  stranger,
} from "../../../support/forwarding.ts";
import { home, send, statusesOf, stocked } from "../../../support/mailboxes.ts";
import { newAccount, newMember, testTable, type Account } from "../../../support/world.ts";

const ask = (account: Account, id: string) => send(account, "POST", ofRule(id, "/verification/send"));

/** Stores that mails were sent to an address this many seconds ago. */
const mailedAgo = (target: string, ...seconds: number[]): Promise<void> =>
  write({
    put: {
      ...mailedKey(target),
      at: seconds.map((ago) => new Date(Date.now() - ago * 1_000).toISOString()),
      version: 1,
    },
  });

test("a refusal of a mail does not count if another mail was asked for meanwhile", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const work = sendWork();
  const refuse = async (): Promise<never> => {
    await mailedAgo(rule.target_email, 61);
    expect((await ask(account, rule.id)).status).toBe(200);
    throw new MailRefused("550 no such user");
  };
  await sendVerification(account.id, rule.id, { ...work, mail: { ...work.mail, send: refuse } });
  const { body } = await send(account, "GET", ofRule(rule.id));
  expect(body).toMatchObject({ verification_state: "pending", status_reason: null });
  const { token } = await mailed(account, rule);
  expect((await press(token)).status).toBe(200);
});

test("a new mail ends the link and the code of the mail before", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const old = await mailed(account, rule);
  await mailedAgo(rule.target_email, 61);
  const { status, body } = await ask(account, rule.id);
  expect([status, body.verification_state]).toEqual([200, "pending"]);
  expect((await press(old.token)).status).toBe(422);
  expect((await enter(account, rule.id, old.code)).body.tries_left).toBe(0);
  const fresh = await mailed(account, rule);
  expect(fresh.token).not.toBe(old.token);
  expect((await press(fresh.token)).status).toBe(200);
  expect(await mailsTo(rule.target_email)).toHaveLength(2);
});

test("an address gets at most one mail a minute, even for concurrent requests; a refusal has Retry-After", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const refused = await ask(account, rule.id);
  expect(refused.body).toMatchObject({ status: 429, code: "rate_limited", retry_after: expect.any(Number) });
  expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(60);
  await mailedAgo(rule.target_email, 61);
  expect(statusesOf(await Promise.all([1, 2, 3].map(() => ask(account, rule.id))))).toEqual([200, 429, 429]);
});

test("an address gets at most five mails in 24 hours from all accounts together, with or without a +tag", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const target = stranger("ada");
  const rule = await ruleTo(account, target);
  await mailedAgo(target, 80_000, 60_000, 50_000, 40_000, 30_000);
  const refused = await ask(account, rule.id);
  expect(refused.body).toMatchObject({ status: 429, code: "rate_limited" });
  expect(Number(refused.headers["retry-after"])).toBeGreaterThan(6_000);
  const theirs = await ruleTo(other, target.replace("@", "+other@"));
  expect(theirs.verification_sent_at).toBe(null);
  expect((await ask(other, theirs.id)).status).toBe(429);
  await mailedAgo(target, 86_401, 60_000, 50_000, 40_000, 30_000);
  expect((await ask(account, rule.id)).status).toBe(200);
});

test("a recipient who has agreed is not asked, and a mailbox of the account is not asked", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, ["ada"]);
  const [agreed, own] = [await agreedRule(account), await ruleTo(account, `ada@${name}`)];
  for (const [{ id, target_email }, why] of [
    [agreed, "has agreed already"],
    [own, "is a mailbox of this account"],
  ] as const) {
    expect((await ask(account, id)).body).toMatchObject({
      status: 409,
      code: "verification_not_needed",
      detail: `${target_email} ${why}. No mail is needed.`,
    });
  }
});

test("a target that has become a mailbox of the account needs no agreement and keeps no proof, and a former mailbox needs an agreement", async () => {
  const account = await newAccount();
  const domain = await home(account, { status: "pending_delegation" });
  const rule = await ruleTo(account, `ada@${domain.name}`);
  const proof = () => getProof(testTable(), account.id, rule.id, 0);
  expect(await proof()).toMatchObject({ state: "asked" });
  const [ada = ""] = await stocked(account, domain.name, ["ada"]);
  const now = await ask(account, rule.id);
  expect(await proof()).toBeUndefined();
  expect([now.status, now.body.verification_state, now.body.verification_required]).toEqual([200, "internal", false]);
  expect((await ask(account, rule.id)).body.code).toBe("verification_not_needed");
  await send(account, "DELETE", `mailboxes/${ada}`);
  await write({ delete: mailedKey(rule.target_email) });
  const again = await ask(account, rule.id);
  expect([again.status, again.body.verification_state, again.body.verification_required]).toEqual([
    200,
    "pending",
    true,
  ]);
});

test("an internal target stays internal if a caller who may not see its mailbox asks the recipients", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const [ada = ""] = await stocked(account, name, ["ada"]);
  const [own, bob] = [`ada@${name}`, stranger("bob")];
  const { body: rule } = await send(account, "POST", "forwarding", { target_emails: [own, bob] });
  const manager = await newMember(account, { capability: "forwarding.manage" });
  const askAs = (target_email?: string) =>
    send(account, "POST", ofRule(rule.id, "/verification/send"), { target_email }, { as: manager });
  const stateOf = ({ body }: Awaited<ReturnType<typeof send>>): unknown => body.targets[0].verification_state;
  expect((await askAs(own)).body.code).toBe("verification_not_needed");
  await write({ delete: mailedKey(bob) });
  const asked = await askAs();
  expect([asked.status, stateOf(asked)]).toEqual([200, "internal"]);
  expect(await mailsTo(own)).toEqual([]);
  await send(account, "DELETE", `mailboxes/${ada}`);
  expect(stateOf(await askAs(own))).toBe("pending");
});

test("a target whose mailbox was deleted does not stop the mail to the other target", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const [ada = ""] = await stocked(account, name, ["ada"]);
  const [gone, bob] = [`ada@${name}`, stranger("bob")];
  const { body: rule } = await send(account, "POST", "forwarding", { target_emails: [gone, bob] });
  await send(account, "DELETE", `mailboxes/${ada}`);
  await write({ delete: mailedKey(bob) });
  expect(await ask(account, rule.id)).toMatchObject({
    status: 200,
    body: { targets: [{ email: gone }, { email: bob }] },
  });
  await sendVerification(account.id, rule.id, sendWork());
  expect(await mailsTo(bob)).toHaveLength(1);
  const named = await send(account, "POST", ofRule(rule.id, "/verification/send"), { target_email: gone });
  expect(named).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "target_email"], type: "not_found" }] },
  });
});
