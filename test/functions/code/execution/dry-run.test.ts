import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { execute } from "../../../../functions/code/execution/execute.ts";
import type { InvocationContext } from "../../../../shared/http/invoke.ts";
import { codeDoor, runFor } from "../../../support/code-door.ts";
import { newAccount, newMember, newSuperAdmin, newUser } from "../../../support/world.ts";

const dry = { dryRun: true };
const heldIn = (answer: Awaited<ReturnType<typeof runFor>>) => answer.dry_run?.calls.map(({ held }) => held);

test("a dry run answers the calls and the score, and has no effect", async () => {
  const { id, owner } = await newAccount();
  const program = `w = workspaces.add(account_id="${id}", name="Never")\n[workspaces.get(account_id="${id}", workspace_id=x) for x in [w.id]]`;
  const answer = await runFor(owner, program, dry);
  expect(answer).toEqual({
    request_id: "r",
    status: "completed",
    result: { last_value: null },
    responses: [],
    complexity_score: 2,
    dry_run: {
      calls: [
        {
          index: 0,
          function: "workspaces.add",
          line: 1,
          column: 5,
          access: "write",
          capability: "workspace.manage",
          held: true,
        },
        {
          index: 1,
          function: "workspaces.get",
          line: 2,
          column: 2,
          access: "read",
          capability: "workspace.view",
          held: true,
        },
      ],
    },
  });
  const after = await runFor(owner, `workspaces.list(account_id="${id}").total`);
  expect(after.result.last_value).toBe(0);
});

test("whether the caller holds what a call needs is told as far as it can be known", async () => {
  const account = await newAccount();
  const { id } = account;
  const viewer = await newMember(account, { capability: "workspace.view" });
  const scoped = await newMember(account, {
    capability: "workspace.manage",
    scope: { type: "workspace", id: randomUUID() },
  });
  const program = [
    `workspaces.list(account_id="${id}")`,
    `workspaces.add(account_id="${id}", name="A")`,
    `workspaces.update(account_id="${id}", workspace_id="${randomUUID()}", name="A")`,
    `a = "${id}"`,
    "workspaces.list(account_id=a)",
    "mine = me.get()",
    "workspaces.list(account_id=mine.id)",
  ].join("\n");
  expect(heldIn(await runFor(account.owner, program, dry))).toEqual([true, true, true, true, true, null]);
  expect(heldIn(await runFor(viewer, program, dry))).toEqual([true, false, false, true, true, null]);
  expect(heldIn(await runFor(scoped, program, dry))).toEqual([false, false, null, false, true, null]);
  expect(heldIn(await runFor(newUser(), program, dry))).toEqual([false, false, false, false, true, null]);
  expect(heldIn(await runFor(await newSuperAdmin(), program, dry))).toEqual([true, true, true, true, true, null]);
});

test("a program with a mistake is answered as when it is run", async () => {
  const user = newUser();
  expect(await runFor(user, "me.gt()", dry)).toEqual(await runFor(user, "me.gt()"));
});

test("a dry run counts 1, a run its score, of which its request has paid 1, before anything is called", async () => {
  const costsOf = counting();
  const code = "accounts.list(page_size=100)\naccounts.list(page_size=100)";
  expect(await costsOf({ code, dryRun: true })).toEqual([]);
  expect(await costsOf({ code })).toEqual([{ cost: 7, prepaid: 1 }]);
});

test("a dry run counts the accounts that it has to look at", async () => {
  const code = Array.from({ length: 50 }, () => `workspaces.list(account_id="${randomUUID()}")`).join("\n");
  expect(await counting()({ code, dryRun: true })).toEqual([{ cost: 49, prepaid: 1 }]);
});

/** Runs programs, and tells what each is charged beside what its request paid. */
function counting(): (run: { code: string; dryRun?: boolean }) => Promise<object[]> {
  const door = codeDoor(newUser());
  return async (run) => {
    const costs: object[] = [];
    const charge: InvocationContext["charge"] = async ({ cost, prepaid }) => void costs.push({ cost, prepaid });
    const reserve: InvocationContext["reserve"] = async (what) => {
      await charge(what);
      return { isOwn: false, settle: async () => undefined };
    };
    await execute({ ...run, requestId: "r" }, { ...door, charge, reserve });
    return costs;
  };
}

test("a program that may only read is refused as a whole for one function that writes", async () => {
  const { id, owner } = await newAccount();
  const program = `me.get()\nworkspaces.add(account_id="${id}", name="A")`;
  const { error, responses } = await runFor(owner, program, { readOnly: true });
  expect(responses).toEqual([]);
  expect(error).toMatchObject({
    code: "read_only",
    line: 2,
    message: expect.stringContaining("workspaces.add changes"),
  });
  expect((await runFor(owner, "me.get()", { readOnly: true })).status).toBe("completed");
});

test("each write of a program with a key has a key of its own: sent again, none of them is done twice", async () => {
  const { id, owner } = await newAccount();
  const program = `ws = [workspaces.add(account_id="${id}", name=n) for n in ["A", "B"]]\nworkspaces.add(account_id="${id}", name="C")\n[w.id for w in ws]`;
  const first = await runFor(owner, program, { key: "k1" });
  expect(first.status).toBe("completed");
  expect(await runFor(owner, program, { key: "k1" })).toEqual(first);
  const other = program.replace('"C"', '"D"');
  expect((await runFor(owner, other, { key: "k1" })).error).toMatchObject({ code: "idempotency_key_reused", line: 2 });
  expect((await runFor(owner, program, { key: "k2" })).error).toMatchObject({ code: "workspace_name_taken" });
  expect((await runFor(owner, `workspaces.list(account_id="${id}").total`)).result.last_value).toBe(3);
});
