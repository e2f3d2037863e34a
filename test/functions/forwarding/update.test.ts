import { expect, test } from "vitest";

import type { ForwardingRule } from "../../../shared/mail/forwarding/rule.ts";
import { afterReading } from "../../support/between.ts";
import { agreedRule, enter, mailed, ofRule, press, ruleNow, ruleTo, stranger } from "../../support/forwarding.ts";
import { whereTo } from "../../support/mail-routes.ts";
import { home, send, stocked } from "../../support/mailboxes.ts";
import { newAccount, newMember } from "../../support/world.ts";

const retarget = (account: Parameters<typeof send>[0], id: string, target_email: string, options = {}) =>
  send(account, "PATCH", ofRule(id), { target_email }, options);

test("a new target has to agree, and the link and code of the target before stop working", async () => {
  const account = await newAccount();
  const [old, target] = [stranger(), stranger()];
  const rule = await ruleTo(account, old);
  const { token, code } = await mailed(account, rule);
  const { status, body } = await retarget(account, rule.id, target);
  expect([status, body.target_email, body.verification_state, body.active]).toEqual([200, target, "pending", true]);
  expect((await press(token)).status).toBe(422);
  expect((await enter(account, rule.id, code)).body).toMatchObject({ code: "verification_failed", tries_left: 0 });
  expect((await press((await mailed(account, body)).token)).status).toBe(200);
  expect((await ruleNow(account, rule.id))?.verification_state).toBe("verified");
});

test("the same target in any spelling keeps its agreement", async () => {
  const account = await newAccount();
  const rule = await agreedRule(account);
  const { status, body } = await retarget(account, rule.id, rule.target_email.toUpperCase());
  expect([status, body]).toEqual([200, rule]);
});

test("a mailbox of the account as the new target gets copies at once", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  await stocked(account, name, ["ada", "bob"]);
  const rule = await ruleTo(account, stranger());
  const { body } = await retarget(account, rule.id, `ada@${name}`);
  expect(body).toMatchObject({
    verification_state: "internal",
    verification_required: false,
    verification_sent_at: null,
    verification_expires_at: null,
  });
  expect(await whereTo(`bob@${name}`)).toMatchObject({ copies: [{ address: `ada@${name}` }] });
});

test("refuses a target that the scope already has, or whose copies would come back", async () => {
  const account = await newAccount();
  const [one, other] = [await home(account), await home(account)];
  for (const { name } of [one, other]) await stocked(account, name, ["ada"]);
  const target = stranger();
  const first = await ruleTo(account, target, { domain: one.name });
  const second = await ruleTo(account, stranger(), { domain: one.name });
  await ruleTo(account, `ada@${one.name}`, { domain: other.name });
  expect((await retarget(account, second.id, target)).body).toMatchObject({
    code: "forwarding_exists",
    conflicts_with: first.id,
  });
  expect((await retarget(account, second.id, `ada@${other.name}`)).body.code).toBe("forwarding_loop");
  expect((await ruleNow(account, second.id))?.target_email).toBe(second.target_email);
});

test.each(["changed to the same target", "added with the same target"])(
  "refuses a target if another rule of the scope is %s at the same time",
  async (way) => {
    const account = await newAccount();
    const { name } = await home(account);
    await stocked(account, name, ["ada"]);
    const [target, first, second] = [
      `ada@${name}`,
      await ruleTo(account, stranger()),
      await ruleTo(account, stranger()),
    ];
    const conflicting: ForwardingRule[] = [];
    const { body } = await afterReading(
      ({ SK }) => SK.startsWith("FORWARD#account#"),
      async () => {
        const isAdded = way.startsWith("added");
        const other = isAdded ? await ruleTo(account, target) : (await retarget(account, first.id, target)).body;
        conflicting.push(other);
      },
      () => retarget(account, second.id, target),
    );
    expect(conflicting).toMatchObject([{ target_email: target }]);
    expect(body).toMatchObject({ status: 409, code: "forwarding_exists", conflicts_with: conflicting[0]?.id });
    expect((await ruleNow(account, second.id))?.target_email).toBe(second.target_email);
  },
);

test("needs forwarding.manage on the scope of the rule", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const viewer = await newMember(account, { role: "viewer" });
  expect((await retarget(account, rule.id, stranger(), { as: viewer })).body).toMatchObject({
    status: 403,
    required_capability: "forwarding.manage",
  });
});
