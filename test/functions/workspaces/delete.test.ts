import { randomUUID } from "node:crypto";

import { expect, onTestFinished, test } from "vitest";

import { advanceDomain } from "../../../functions/workers/advance-domains.ts";
import { hourMs, setClockAhead } from "../../../shared/core/time.ts";
import { domainQueue } from "../../../shared/domains/domain.ts";
import { assignmentsOn } from "../../../shared/grants/assignments.ts";
import { dueWrite, tasksOf } from "../../../shared/table/due.ts";
import { rowKey } from "../../../shared/table/ranked-list.ts";
import { asOwner, newGroup } from "../../support/auth.ts";
import { withStep } from "../../support/between-calls.ts";
import { workAt } from "../../support/domain-work.ts";
import { connect, uniqueName } from "../../support/domains.ts";
import { withFault } from "../../support/faults.ts";
import { send } from "../../support/mailboxes.ts";
import { request, statusesOf } from "../../support/request.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

async function accountWithOne() {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/workspaces`;
  const { token } = account.owner;
  const { body } = await request("POST", path, { token, body: { name: "Sales" } });
  return { account, path, token, id: String(body.id) };
}

test("deletes a workspace once: the id is gone at once, the name is free, and a second deletion gets 404", async () => {
  const { path, token, id } = await accountWithOne();
  const answer = await request("DELETE", `${path}/${id}`, { token });
  expect([answer.status, answer.body]).toEqual([200, {}]);
  expect((await request("GET", `${path}/${id}`, { token })).status).toBe(404);
  expect((await request("DELETE", `${path}/${id}`, { token })).status).toBe(404);
  const again = await request("POST", path, { token, body: { name: "Sales" } });
  expect(again.status).toBe(201);
  expect(again.body.id).not.toBe(id);
});

test("of many concurrent deletions one succeeds and the total falls by one", async () => {
  const { path, token, id } = await accountWithOne();
  await request("POST", path, { token, body: { name: "Other" } });
  const answers = await Promise.all(Array.from({ length: 8 }, () => request("DELETE", `${path}/${id}`, { token })));
  expect(statusesOf(answers)).toEqual([200, ...Array(7).fill(404)]);
  expect((await request("GET", path, { token })).body.total).toBe(1);
});

test("refuses a workspace that still holds domains and leaves it", async () => {
  const { account, path, token, id } = await accountWithOne();
  // The test sets the count of domains directly.
  const row = rowKey({ partition: `ACCOUNT#${account.id}`, name: "workspaces" }, 0);
  await testTable().commit(async () => ({ value: undefined, writes: [{ update: row, set: { domain_count: 2 } }] }));
  const answer = await request("DELETE", `${path}/${id}`, { token });
  expect(answer.body).toMatchObject({ status: 409, code: "workspace_not_empty", domain_count: 2 });
  expect((await request("GET", `${path}/${id}`, { token })).status).toBe(200);
});

test("revokes the grants on a workspace, even if an interrupted deletion already removed the workspace", async () => {
  const { account, path, token, id } = await accountWithOne();
  const scope = { type: "workspace" as const, id };
  const members = [
    await newMember(account, { role: "viewer", scope }),
    await newMember(account, { role: "viewer", scope }),
  ];
  const row = rowKey({ partition: `ACCOUNT#${account.id}`, name: "workspaces" }, 0);
  await testTable().commit(async () => ({ value: undefined, writes: [{ delete: row }] }));
  expect((await request("DELETE", `${path}/${id}`, { token })).status).toBe(200);
  for (const member of members) {
    expect((await request("GET", `/v1/public/accounts/${account.id}`, { token: member.token })).status).toBe(404);
  }
  expect((await request("DELETE", `${path}/${id}`, { token })).status).toBe(404);
});

test("if a domain is added during a deletion, one of them is refused, and a refused deletion changes nothing", async () => {
  const seen = new Set<number>();
  for (let at = 0; ; at++) {
    const { account, path, token, id } = await accountWithOne();
    const scope = { type: "workspace" as const, id };
    for (let index = 0; index < 9; index++) await newMember(account, { role: "viewer", scope });
    let added = 0;
    const step = async () => void (added = (await connect(account, uniqueName(), id)).status);
    const { value } = await withStep(at, step, () => request("DELETE", `${path}/${id}`, { token }));
    // The deletion has no call at this place, so the step did not run.
    if (added === 0) break;
    seen.add(value.status);
    const left = (await assignmentsOn(testTable(), account.id, scope)).length;
    const expected = value.status === 200 ? [200, 422, 0] : [409, 201, 9];
    expect([at, value.status, added, left]).toEqual([at, ...expected]);
  }
  expect(seen).toEqual(new Set([409, 200]));
});

test("deletes all master passwords of the workspace and all grants on them", async () => {
  const { account, path, token, id } = await accountWithOne();
  const body = (name: string) => ({ name, generate: true, workspace_id: id });
  const ids: string[] = [];
  for (const name of ["1", "2", "3", "4", "5", "6", "7", "8"])
    ids.push((await send(account, "POST", "credentials", body(name))).body.id);
  const members = [];
  for (const credential of [...ids, ...ids.slice(0, 1)]) {
    const scope = { type: "credential" as const, id: credential };
    members.push(await newMember(account, { capability: "credential.view", scope }));
  }
  expect((await request("DELETE", `${path}/${id}`, { token })).status).toBe(200);
  expect((await send(account, "GET", "credentials")).body.total).toBe(0);
  for (const member of members) {
    expect((await request("GET", `/v1/public/accounts/${account.id}`, { token: member.token })).status).toBe(404);
  }
});

test("the worker deletes what an interrupted deletion of a workspace has left", async () => {
  const scene = async () => {
    const { account, path, token, id } = await accountWithOne();
    const scope = { type: "workspace" as const, id };
    for (let index = 0; index < 9; index++) await newMember(account, { role: "viewer", scope });
    await send(account, "POST", "credentials", { name: "Shared", generate: true, workspace_id: id });
    const left = async () => [
      (await assignmentsOn(testTable(), account.id, scope)).length,
      (await send(account, "GET", "credentials")).body.total,
    ];
    const tasks = () => tasksOf(testTable(), domainQueue, account.id);
    return { account, id, left, tasks, remove: () => request("DELETE", `${path}/${id}`, { token }) };
  };
  const whole = await scene();
  const { calls } = await withFault(undefined, -1, whole.remove);
  expect([await whole.left(), await whole.tasks()]).toEqual([[0, 0], []]);
  const transactions = calls.filter((command) => command === "TransactWriteItems").length;
  expect(transactions).toBeGreaterThan(2);
  for (let transaction = 1; transaction < transactions; transaction++) {
    const { account, id, left, tasks, remove } = await scene();
    expect((await withFault("lost before", { transaction }, remove)).value.status).toBe(503);
    expect(await left()).not.toEqual([0, 0]);
    const [task, ...others] = await tasks();
    expect([task?.subject, others]).toEqual([[account.id, `workspace/${id}`], []]);
    await advanceDomain(account.id, `workspace/${id}`, task?.at ?? "", workAt(new Date()));
    expect([await left(), await tasks()]).toEqual([[0, 0], []]);
  }
});

test("the worker changes nothing in a workspace that a restore of the account has brought back", async () => {
  const { account, path, token, id } = await accountWithOne();
  await newMember(account, { role: "viewer", scope: { type: "workspace", id } });
  const [at, subject] = [new Date().toISOString(), [account.id, `workspace/${id}`] as const];
  await testTable().attempt(dueWrite(domainQueue, subject, at));
  await advanceDomain(...subject, at, workAt(new Date()));
  expect(await assignmentsOn(testTable(), account.id, { type: "workspace", id })).toHaveLength(1);
  expect(await tasksOf(testTable(), domainQueue, account.id)).toEqual([]);
  expect((await request("GET", `${path}/${id}`, { token })).status).toBe(200);
});

test("keeps the grants on a workspace that is not deleted because it holds domains", async () => {
  const { account, path, token, id } = await accountWithOne();
  const member = await newMember(account, { role: "viewer", scope: { type: "workspace", id } });
  const row = rowKey({ partition: `ACCOUNT#${account.id}`, name: "workspaces" }, 0);
  await testTable().commit(async () => ({ value: undefined, writes: [{ update: row, set: { domain_count: 1 } }] }));
  expect((await request("DELETE", `${path}/${id}`, { token })).status).toBe(409);
  expect((await request("GET", `${path}/${id}`, { token: member.token })).status).toBe(200);
});

test("revokes a grant on the workspace that is given at any moment of the deletion", async () => {
  const account = await newAccount();
  const seen: number[] = [];
  for (let [at, last] = [0, 1]; at < last; at++) {
    const { id } = (await send(account, "POST", "workspaces", { name: "Sales" })).body;
    const given = { subject_type: "user", subject_id: randomUUID(), grant_kind: "capability" };
    const grant = { ...given, capability_key: "workspace.view", resource_type: "workspace", resource_id: id };
    const step = async () => void seen.push((await send(account, "POST", "auth/authorizations", grant)).status);
    const { value, calls } = await withStep(at, step, () => send(account, "DELETE", `workspaces/${id}`));
    last = calls;
    const left = await assignmentsOn(testTable(), account.id, { type: "workspace", id });
    expect([at, value.status, left]).toEqual([at, 200, []]);
  }
  expect(seen).toContain(201);
});

test("an ended grant of a deleted group does not prevent the deletion of its workspace", async () => {
  const { account, path, token, id } = await accountWithOne();
  const group = await newGroup(account, "Support");
  const give = (more: Record<string, unknown>) =>
    asOwner(account, "POST", "authorizations", {
      grant_kind: "capability",
      subject_type: "group",
      subject_id: group.id,
      capability_key: "domain.view",
      ...more,
    });
  const scope = { resource_type: "workspace", resource_id: id };
  await give({ ...scope, expires_at: new Date(Date.now() + hourMs).toISOString() });
  setClockAhead(2 * hourMs);
  onTestFinished(() => setClockAhead(0));
  // This grant makes the group leave out its ended grants, before the worker has recorded their end.
  await give({ capability_key: "workspace.view" });
  await asOwner(account, "DELETE", `groups/${group.id}`);
  expect((await request("DELETE", `${path}/${id}`, { token })).status).toBe(200);
  expect(await assignmentsOn(testTable(), account.id, { type: "workspace", id })).toEqual([]);
});
