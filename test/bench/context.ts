import { randomUUID } from "node:crypto";

import { noPermissions } from "../../shared/auth/permissions.ts";
import { recorder } from "../../shared/changes/recorder.ts";
import { createLog } from "../../shared/core/log.ts";
import type { Context } from "../../shared/http/route.ts";
import type { Usage } from "../../shared/table/connection.ts";
import { documentClient, openTable, type Table } from "../../shared/table/table.ts";

/** What a route's `run` gets, for an owner in an account that nobody else knows. */
export type BenchContext = Context & { table: Table; accountId: string };

/** A context over the bench's table that records no changes, and whose calls are counted. */
export function plainContext(usage: Usage): BenchContext {
  const table = openTable(documentClient(), "bench", usage);
  return {
    accountId: randomUUID(),
    principal: { type: "user", id: randomUUID(), email: "", groups: [] },
    permissions: { ...noPermissions, member: true, everything: true },
    requestId: "bench",
    table,
    commit: table.commit,
    answer: async (value) => value,
    log: createLog("silent", {}),
    now: () => new Date(),
  };
}

/** The same, whose changes are recorded like a request's. */
export function benchContext(usage: Usage): BenchContext {
  const context = plainContext(usage);
  const { table, accountId, now, principal } = context;
  const author = { action: "bench", actor: { type: "user" as const, id: principal.id }, requestId: "bench" };
  return { ...context, commit: recorder({ table, accountId, author, now }) };
}

/** Does a piece of work and says what it spent of what is counted. */
export const meter =
  (usage: Usage) =>
  async <T>(run: () => Promise<T>): Promise<Usage & { value: T }> => {
    Object.assign(usage, { readUnits: 0, writeUnits: 0, calls: 0 });
    const value = await run();
    return { ...usage, value };
  };
