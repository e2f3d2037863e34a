import { expect, test } from "vitest";

import { setAccountStatus } from "../../../../shared/access/operate-accounts.ts";
import { getProof } from "../../../../shared/mail/forwarding/proof.ts";
import { rules } from "../../../../shared/mail/forwarding/rule.ts";
import { sendVerification } from "../../../../shared/mail/forwarding/send.ts";
import { scopedKey } from "../../../../shared/mail/scoped/family.ts";
import type { Letter, Mail } from "../../../../shared/providers/mail/mail.ts";
import type { Table } from "../../../../shared/table/table.ts";
import { write } from "../../../support/domain-work.ts";
import { connected } from "../../../support/domains.ts";
import { enter, mailed, mailsTo, press, ruleNow, ruleTo, sendWork, stranger } from "../../../support/forwarding.ts";
import { home, send } from "../../../support/mailboxes.ts";
import { newAccount, testTable } from "../../../support/world.ts";

const count = async (target: string): Promise<number> => (await mailsTo(target)).length;

test("one mail is sent even if the event comes several times, at once or one after the other", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const work = sendWork();
  const results = await Promise.allSettled([1, 2, 3].map(() => sendVerification(account.id, rule.id, work)));
  expect(results.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(1);
  await sendVerification(account.id, rule.id, work);
  expect(await count(rule.target_email)).toBe(1);
  const [only] = await mailsTo(rule.target_email);
  expect((await press(only?.token ?? "")).status).toBe(200);
});

test("a mail that could not be sent is sent when the event comes again, with a new link", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const letters: Letter[] = [];
  const down: Mail = {
    send: async (letter) => {
      letters.push(letter);
      throw new Error("no answer");
    },
  };
  await expect(sendVerification(account.id, rule.id, sendWork(new Date(), { mail: down }))).rejects.toThrow(
    "no answer",
  );
  const lost = /verify#([\w-]+)/.exec(letters[0]?.text ?? "")?.[1] ?? "";
  const { token } = await mailed(account, rule);
  expect(token).not.toBe(lost);
  expect((await press(lost)).status).toBe(422);
  expect((await press(token)).status).toBe(200);
});

test("if a worker dies while it sends, another worker can send the mail a minute later", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const never: Mail = { send: () => new Promise(() => undefined) };
  void sendVerification(account.id, rule.id, sendWork(new Date(), { mail: never }));
  await expect.poll(async () => (await getProof(testTable(), account.id, rule.id, 0))?.state).toBe("sending");
  await expect(sendVerification(account.id, rule.id, sendWork())).rejects.toThrow(
    "Another worker is sending this mail.",
  );
  await sendVerification(account.id, rule.id, sendWork(new Date(Date.now() + 61_000)));
  expect(await count(rule.target_email)).toBe(1);
});

test("if the mail server refuses the address, the verification is over, and the event is done", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, `refused-${stranger()}`);
  await sendVerification(account.id, rule.id, sendWork());
  expect(await ruleNow(account, rule.id)).toMatchObject({
    verification_state: "expired",
    verification_sent_at: null,
    status_reason: expect.stringContaining("refused"),
  });
  expect((await enter(account, rule.id, "123456")).body.reason).toBe("not_sent");
  await sendVerification(account.id, rule.id, sendWork());
  expect(await count(rule.target_email)).toBe(0);
});

test("nothing is sent for a rule that is deleted or verified, or whose time for the verification is over", async () => {
  const account = await newAccount();
  const gone = await ruleTo(account, stranger());
  await send(account, "DELETE", `forwarding/${gone.id}`);
  const late = await ruleTo(account, stranger());
  const done = await ruleTo(account, stranger());
  await press((await mailed(account, done)).token);
  await sendVerification(account.id, gone.id, sendWork());
  await sendVerification(account.id, late.id, sendWork(new Date(Date.now() + 48 * 3_600_000)));
  await sendVerification(account.id, done.id, sendWork());
  expect(await Promise.all([gone, late, done].map(({ target_email }) => count(target_email)))).toEqual([0, 0, 1]);
});

test("a link for a new target is not sent to the former target, even if the target changes while the worker runs", async () => {
  const account = await newAccount();
  const [before, after] = [stranger("before"), stranger("after")];
  const rule = await ruleTo(account, before);
  const table = testTable();
  // The target changes after the worker has begun, and before its transaction.
  const commit: Table["commit"] = async (plan) => {
    await send(account, "PATCH", `forwarding/${rule.id}`, { target_email: after });
    return table.commit(plan);
  };
  await sendVerification(account.id, rule.id, sendWork(new Date(), { table: { ...table, commit } }));
  expect(await count(before)).toBe(0);
  const [letter] = await mailsTo(after);
  expect((await press(letter?.token ?? "")).status).toBe(200);
  expect(await ruleNow(account, rule.id)).toMatchObject({ target_email: after, verification_state: "verified" });
});

test("a proof for one target does not verify a rule that now has another target", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { token } = await mailed(account, rule);
  const key = scopedKey(rules, account.id, rule.id);
  await write({ update: key, set: { target_email: stranger("victim") } });
  expect((await press(token)).status).toBe(422);
  expect((await ruleNow(account, rule.id))?.verification_state).toBe("pending");
});

test("no letters are sent for a suspended account, and its rules cannot be verified", async () => {
  const account = await newAccount();
  const [asked, silent] = [await ruleTo(account, stranger()), await ruleTo(account, stranger())];
  const { token } = await mailed(account, asked);
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  await sendVerification(account.id, silent.id, sendWork());
  expect(await count(silent.target_email)).toBe(0);
  expect((await press(token)).status).toBe(422);
  await setAccountStatus(testTable(), account.id, "active", new Date());
  expect((await press(token)).status).toBe(200);
});

test("the letters of a past due account are sent, and its rules can be verified", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  await setAccountStatus(testTable(), account.id, "past_due", new Date());
  await sendVerification(account.id, rule.id, sendWork());
  const [letter] = await mailsTo(rule.target_email);
  expect((await press(letter?.token ?? "")).status).toBe(200);
  expect((await ruleNow(account, rule.id))?.verification_state).toBe("verified");
});

test("a letter names a domain only if the account has proved that it owns the domain", async () => {
  const account = await newAccount();
  const [proved, said] = [await home(account), await connected(account)];
  const [one, other] = [
    await ruleTo(account, stranger(), { domain: proved.name }),
    await ruleTo(account, stranger(), { domain: said.name }),
  ];
  expect((await mailed(account, one)).mail.text).toContain(proved.name);
  expect((await mailed(account, other)).mail.text).not.toContain(said.name);
});
