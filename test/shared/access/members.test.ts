import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { myPermissions } from "../../../shared/access/members.ts";
import { noPermissions } from "../../../shared/auth/permissions.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

const principal = { type: "user" as const, id: randomUUID(), email: "", groups: [] };
const now = () => new Date();

test("`myPermissions` reads no row of a group for a caller in no group", async () => {
  const points: string[] = [];
  const step = async (point: string) => {
    points.push(point);
    return undefined;
  };
  const table = openMemoryTable(createMemoryStore(), { step });
  await myPermissions(randomUUID(), { table, principal, permissions: { ...noPermissions, member: true }, now });
  // The caller's access record, the record of all groups' grants, and whether the caller is a super admin.
  expect(points.map((point) => point.split(" ")[0])).toEqual(["read", "read", "read"]);
});

test("`myPermissions` reads the scope of each grant a few times, however many grants there are", async () => {
  let reads = 0;
  const grants = Array.from({ length: 300 }, () => ({
    id: randomUUID(),
    role: "viewer" as const,
    resource: { type: "domain" as const, id: randomUUID() },
    get scope() {
      reads += 1;
      return this.resource;
    },
  }));
  const { scopes } = await myPermissions(randomUUID(), {
    table: openMemoryTable(createMemoryStore()),
    principal,
    permissions: { ...noPermissions, member: true, grants },
    now,
  });
  expect(scopes).toHaveLength(300);
  expect(reads).toBeLessThan(10 * grants.length);
});
