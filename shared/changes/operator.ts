import { randomUUID } from "node:crypto";

import type { Table } from "../table/table.ts";
import { recorder, type Commit } from "./recorder.ts";

/** A `commit` for what the operator does in an account, recorded like what its principals do. */
export const operatorCommit = (table: Table, accountId: string, action: string, now: Date): Commit =>
  recorder({
    table,
    accountId,
    author: { action: `operator: ${action}`, actor: { type: "operator", id: "operator" }, requestId: randomUUID() },
    now: () => now,
  });
