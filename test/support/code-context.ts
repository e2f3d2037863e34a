import { execute, type Run } from "../../functions/code/execution/execute.ts";
import type { Principal } from "../../shared/auth/principal.ts";
import { createLog } from "../../shared/core/log.ts";
import type { InvocationContext } from "../../shared/http/invoke.ts";
import { testTable, type User } from "./world.ts";

/** The context that code mode gives to the calls of a user. `now` is its clock. */
export function codeContext({ id }: Pick<User, "id">, now: () => Date = () => new Date()): InvocationContext {
  const principal: Principal = { type: "user", id, email: `${id}@example.com`, email_verified: true, groups: [] };
  return {
    requestId: "request-1",
    table: testTable(),
    log: createLog("silent", {}),
    now,
    authenticate: async () => principal,
    charge: async () => undefined,
    isRefused: () => false,
    reserve: async () => ({ isOwn: false, settle: async () => undefined }),
  };
}

/** Runs a program for a user. */
export const runFor = (user: Pick<User, "id">, code: string, more: Partial<Run> & { now?: () => Date } = {}) => {
  const { now, ...run } = more;
  return execute({ requestId: "r", ...run, code }, codeContext(user, now));
};
