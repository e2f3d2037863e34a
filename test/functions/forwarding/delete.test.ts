import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { assignmentsOn } from "../../../shared/grants/assignments.ts";
import { withStep } from "../../support/between-calls.ts";
import { storedOf } from "../../support/entry-points.ts";
import { agreedRule, mailed, ofRule, press, ruleNow, ruleTo, stranger } from "../../support/forwarding.ts";
import { send, statusesOf } from "../../support/mailboxes.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

test("deletes a rule with its link and with the grants on the rule", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { token } = await mailed(account, rule);
  const scope = { type: "forwarding" as const, id: rule.id };
  for (let index = 0; index < 12; index++) await newMember(account, { capability: "forwarding.manage", scope });
  expect((await send(account, "DELETE", ofRule(rule.id))).body).toEqual({});
  expect(await ruleNow(account, rule.id)).toBe(undefined);
  expect((await press(token)).status).toBe(422);
  expect(await assignmentsOn(testTable(), account.id, scope)).toEqual([]);
  expect((await storedOf(account)).filter(({ SK }) => SK.startsWith("FORWARD"))).toEqual([]);
});

test("of several concurrent deletions one succeeds, and the others get 404", async () => {
  const account = await newAccount();
  const { id } = await agreedRule(account);
  const answers = await Promise.all([1, 2, 3].map(() => send(account, "DELETE", ofRule(id))));
  expect(statusesOf(answers)).toEqual([200, 404, 404]);
});

test("a rule with ten waiting targets and ten grants with an end can be deleted", async () => {
  const account = await newAccount();
  const target_emails = Array.from({ length: 10 }, (_, index) => stranger(`ada${index}`));
  const { body: rule } = await send(account, "POST", "forwarding", { target_emails });
  const scope = { type: "forwarding" as const, id: String(rule.id) };
  const ending = { capability: "forwarding.view" as const, scope, expires_at: "2100-01-01T00:00:00.000Z" };
  for (let index = 0; index < 10; index++) await newMember(account, ending);
  expect((await send(account, "DELETE", ofRule(rule.id))).status).toBe(200);
  expect(await assignmentsOn(testTable(), account.id, scope)).toEqual([]);
  expect((await storedOf(account)).filter(({ SK }) => SK.startsWith("FORWARD"))).toEqual([]);
});

/** Deletes one new rule for each call that a deletion makes to the table. Runs `step` right before this call. */
async function atEachCall(
  work: (rule: { account: Account; id: string; ifMatch: object }) => {
    step: () => Promise<unknown>;
    check: (status: number) => Promise<void> | void;
  },
): Promise<void> {
  const account = await newAccount();
  for (let [at, last] = [0, 1]; at < last; at++) {
    const { id } = await ruleTo(account, stranger());
    const { headers } = await send(account, "GET", ofRule(id));
    const ifMatch = { headers: { "if-match": String(headers["etag"]) } };
    const { step, check } = work({ account, id, ifMatch });
    const { value, calls } = await withStep(at, step, () => send(account, "DELETE", ofRule(id), undefined, ifMatch));
    last = calls;
    await check(value.status);
  }
}

test("a grant that is given on the rule during its deletion is revoked too", async () => {
  const seen: boolean[] = [];
  await atEachCall(({ account, id }) => {
    const scope = { type: "forwarding" as const, id };
    const given = { subject_type: "user", subject_id: randomUUID(), grant_kind: "capability" };
    const resource = { capability_key: "forwarding.view", resource_type: "forwarding", resource_id: id };
    return {
      step: async () => {
        const { status } = await send(account, "POST", "auth/authorizations", { ...given, ...resource });
        seen.push(status === 201);
      },
      check: async (status) => {
        expect([status, await assignmentsOn(testTable(), account.id, scope)]).toEqual([200, []]);
      },
    };
  });
  expect(seen).toContain(true);
});

test("a change of the rule during its deletion is not lost: the deletion fails with 412", async () => {
  const seen: number[] = [];
  await atEachCall(({ account, id, ifMatch }) => {
    let changed = 0;
    return {
      step: async () => {
        changed = (await send(account, "PATCH", ofRule(id), { keep_copy: false }, ifMatch)).status;
        seen.push(changed);
      },
      check: (status) => expect([changed, status]).toEqual([changed, changed === 200 ? 412 : 200]),
    };
  });
  expect(seen).toContain(200);
});
