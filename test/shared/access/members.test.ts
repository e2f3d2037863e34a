import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { myPermissions } from "../../../shared/access/members.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

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
    principal: { type: "user", id: randomUUID(), email: "", groups: [] },
    permissions: { member: true, everything: false, superAdmin: false, grants },
    now: () => new Date(),
  });
  expect(scopes).toHaveLength(300);
  expect(reads).toBeLessThan(10 * grants.length);
});
