import { expect, test } from "vitest";

import { executeIdempotently } from "../../../../functions/code/execution/replay.ts";
import { advanceDomain } from "../../../../functions/workers/advance-domains.ts";
import type { ResourceType } from "../../../../shared/auth/permissions.ts";
import { domainQueue } from "../../../../shared/domains/domain.ts";
import { assignmentsOn } from "../../../../shared/grants/assignments.ts";
import { readHeld } from "../../../../shared/grants/holders.ts";
import { runtime } from "../../../../shared/http/runtime.ts";
import { tasksOf } from "../../../../shared/table/due.ts";
import { openTable } from "../../../../shared/table/table.ts";
import { asOwner, giveGroup, join, newGroup } from "../../../support/auth.ts";
import { codeContext } from "../../../support/code-context.ts";
import { workAt } from "../../../support/domain-work.ts";
import { withFault } from "../../../support/faults.ts";
import { stranger } from "../../../support/forwarding.ts";
import { send } from "../../../support/mailboxes.ts";
import { grant, newAccount, newServiceAccount, newUser, testTable, type Account } from "../../../support/world.ts";

const later = 120_000;

/**
 * Runs a program in a process that dies at a transaction, counted from 0. Then runs the program again, and returns the
 * status of the second run.
 */
async function runTwice(account: Account, code: string, transaction: number): Promise<string> {
  await withFault("death", { transaction }, () => run(account, code, 0).catch(() => undefined));
  return (await run(account, code, later)).envelope.status;
}

/** Runs a program with the `request_id` `r`, at a time that is `aheadMs` milliseconds after now. */
function run({ owner }: Account, code: string, aheadMs: number) {
  const { client, env } = runtime();
  const context = codeContext(owner, () => new Date(Date.now() + aheadMs));
  const table = openTable(client, env.TABLE_NAME);
  return executeIdempotently({ code, requestId: "r", sessionId: "s" }, { ...context, table });
}

type Kind = { path: string; type: ResourceType; body: object; argument: string };

test.each<Kind>([
  { path: "forwarding", type: "forwarding", body: { target_email: stranger() }, argument: "forwarding_id" },
  { path: "credentials", type: "credential", body: { name: "Scanner", generate: true }, argument: "credential_id" },
  { path: "workspaces", type: "workspace", body: { name: "Sales" }, argument: "workspace_id" },
])(
  "if a process dies between two transactions of a deletion in $path, a repeat of the program completes the deletion",
  async ({ path, type, body, argument }) => {
    for (const transaction of [1, 2, 3]) {
      const account = await newAccount();
      const { id } = (await send(account, "POST", path, body)).body;
      const scope = { type, id };
      for (let index = 0; index < 9; index++) {
        await grant(account, newUser(), { capability: `${type}.view` as "workspace.view", scope });
      }
      const code = `${path}.delete(account_id="${account.id}", ${argument}="${id}")`;
      expect([transaction, await runTwice(account, code, transaction)]).toEqual([transaction, "completed"]);
      expect((await send(account, "GET", `${path}/${id}`)).status, `died at ${transaction}`).toBe(404);
      expect(await assignmentsOn(testTable(), account.id, scope), `died at ${transaction}`).toEqual([]);
    }
  },
);

test("if a worker completes the deletion of a workspace after a process died, a repeat of the program succeeds", async () => {
  const account = await newAccount();
  const { id } = (await send(account, "POST", "workspaces", { name: "Sales" })).body;
  const scope = { type: "workspace" as const, id };
  for (let index = 0; index < 9; index++) await grant(account, newUser(), { capability: "workspace.view", scope });
  const code = `workspaces.delete(account_id="${account.id}", workspace_id="${id}")`;
  await withFault("death", { transaction: 1 }, () => run(account, code, 0).catch(() => undefined));
  const [task] = await tasksOf(testTable(), domainQueue, account.id);
  await advanceDomain(account.id, `workspace/${id}`, task?.at ?? "", workAt(new Date()));
  expect(await assignmentsOn(testTable(), account.id, scope)).toEqual([]);
  expect((await run(account, code, later)).envelope.status).toBe("completed");
  // With another text it is another program, so its call is made again.
  const { envelope } = await run(account, code.replace("workspaces", " workspaces"), later);
  expect(envelope).toMatchObject({ status: "failed", error: { code: "not_found" } });
});

test("if a process dies between two transactions of the deletion of a group, a repeat of the program deletes the group", async () => {
  // The first transaction removes eight members, the second the grant, and the third the group.
  for (const transaction of [1, 2]) {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    await giveGroup(account, group, "workspace.view");
    for (let index = 0; index < 9; index++) await join(account, group, newUser().id);
    const code = `auth.groups.delete(account_id="${account.id}", group_id="${group.id}")`;
    expect(await runTwice(account, code, transaction)).toBe("completed");
    expect((await asOwner(account, "GET", "groups")).total, `died at ${transaction}`).toBe(0);
  }
});

test("if a process dies between two transactions of the revocation of a service account, a repeat of the program completes the revocation", async () => {
  // The first transaction revokes the service account, and the second the grant. Five transactions follow, one for each
  // group. The last transaction deletes the access record.
  for (const transaction of [1, 2, 3, 7]) {
    const account = await newAccount();
    const serviceAccount = await newServiceAccount(account, { capability: "workspace.view" });
    const groups = [];
    for (const name of ["A", "B", "C", "D", "E"]) groups.push(await newGroup(account, name));
    for (const group of groups) await join(account, group, serviceAccount.id, "service_account");
    const code = `auth.service_accounts.revoke(account_id="${account.id}", service_account_id="${serviceAccount.id}")`;
    expect(await runTwice(account, code, transaction)).toBe("completed");
    const about = `died at ${transaction}`;
    expect(await asOwner(account, "GET", `authorizations?subject_id=${serviceAccount.id}`), about).toEqual([]);
    for (const { id } of groups) expect((await asOwner(account, "GET", `groups/${id}/members`)).total, about).toBe(0);
    const subject = { type: "service_account", id: serviceAccount.id } as const;
    expect(await readHeld(testTable(), account.id, subject), about).toBeUndefined();
  }
});
