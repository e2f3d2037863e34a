import { randomUUID } from "node:crypto";

import { noPermissions } from "../../shared/auth/permissions.ts";
import { recorder } from "../../shared/changes/recorder.ts";
import { createLog } from "../../shared/log.ts";
import type { Context } from "../../shared/route.ts";
import type { Usage } from "../../shared/table/connection.ts";
import { documentClient, openTable, type Table } from "../../shared/table/table.ts";

/** What a route's `run` gets, for an owner in an account that nobody else knows. */
export type BenchContext = Context & { table: Table; accountId: string };

/** A context over the bench's table whose changes are recorded like a request's, and whose calls are counted. */
export function benchContext(usage: Usage): BenchContext {
  const accountId = randomUUID();
  const table = openTable(documentClient(), "bench", usage);
  const now = () => new Date();
  const author = { action: "bench", actor: { type: "user" as const, id: randomUUID() }, requestId: "bench" };
  return {
    accountId,
    principal: { type: "user", id: author.actor.id, email: "", groups: [] },
    permissions: { ...noPermissions, member: true, everything: true },
    requestId: "bench",
    table,
    commit: recorder({ table, accountId, author, now }),
    answer: async (value) => value,
    log: createLog("silent", {}),
    now,
  };
}
