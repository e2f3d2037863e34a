import { expect, test } from "vitest";

import { noRoles } from "../../../shared/accounts/standing.ts";
import { assignmentChange, endChange, type Assignment } from "../../../shared/grants/assignment.ts";
import {
  assignmentsOn,
  getAssignments,
  planAssignments,
  planNewEnds,
  planRevocation,
  type Grantable,
} from "../../../shared/grants/assignments.ts";
import { readOwners } from "../../../shared/grants/holders.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

const id = "00000000-0000-4000-8000-000000000001";
const now = new Date("2026-03-01T00:00:00.000Z");
const common = { id, subject_type: "user" as const, subject_id: id, created_at: now.toISOString(), created_by: "x" };
const assignments: [string, Assignment][] = [
  ["auth.grant", { ...common, kind: "capability", capability: "ip.view" }],
  ["auth.grant", { ...common, kind: "account_owner" }],
  ["auth.role_assignment", { ...common, kind: "role", role: "viewer", scope: { type: "workspace", id } }],
];

test.each(assignments)("a change of %s is recorded with the states before and after", (type, assignment) => {
  const created = assignmentChange(undefined, assignment, noRoles);
  expect(created).toMatchObject({ type: `${type}.created`, resource: { type, id }, before: null });
  expect(created.after).toMatchObject({ subject_id: id, revoked_at: null });
  const revoked = endChange(assignment, noRoles, now);
  expect(revoked.type).toBe(`${type}.revoked`);
  expect(revoked.before).toEqual(created.after);
  expect(revoked.after).toEqual({ ...created.after, revoked_at: now.toISOString() });
});

test("a grant on a resource is found by this resource, and after its revocation only its revoked row stays, for 400 days", async () => {
  const table = openMemoryTable(createMemoryStore());
  const [user, scope] = [
    { type: "user" as const, id },
    { type: "workspace" as const, id },
  ];
  const given: Grantable = { kind: "capability", capability: "ip.view", scope };
  const planned = await table.commit(async () => {
    const { assignments, writes } = await planAssignments(table, "account", user, [given], { by: "x", now });
    return { value: assignments, writes };
  });
  expect(await assignmentsOn(table, "account", scope)).toEqual(planned);
  expect(await assignmentsOn(table, "account", { ...scope, id: "other" })).toEqual([]);
  await table.commit(async () => ({ value: 0, ...(await planRevocation(table, "account", planned, now)) }));
  const rows = await table.between("ACCOUNT#account", "A", "Z");
  const keptUntil = now.getTime() / 1_000 + 400 * 86_400;
  expect(rows.map(({ SK, ttl }) => [SK, ttl])).toEqual([[`REVOKED#${planned[0]?.id}`, Math.ceil(keptUntil)]]);
});

test("if two requests change the end of an ownership at the same time, the later change decides whether the ownership lasts for ever", async () => {
  const table = openMemoryTable(createMemoryStore());
  const give = (user: string, given: Grantable) =>
    table.commit(async () => {
      const subject = { type: "user" as const, id: user };
      const { assignments, writes } = await planAssignments(table, "account", subject, [given], { by: "x", now });
      return { value: assignments, writes };
    });
  await give(id, { kind: "account_owner" });
  const ending: Grantable = { kind: "account_owner", expires_at: "2026-04-01T00:00:00.000Z" };
  const given = await give("00000000-0000-4000-8000-000000000002", ending);
  const ids = given.map((one) => one.id);
  /** Changes the end. The first plan uses the state `first`. A plan after a conflict uses the stored state. */
  const end = (expires_at: string | undefined, first: Assignment[]) => {
    let read = first;
    return table.commit(async () => {
      const { writes } = await planNewEnds(table, "account", read, expires_at);
      read = await getAssignments(table, "account", ids);
      return { value: undefined, writes };
    });
  };
  await end(undefined, given);
  expect(await readOwners(table, "account")).toHaveLength(2);
  await end("2026-05-01T00:00:00.000Z", given);
  expect(await readOwners(table, "account")).toEqual([id]);
});
