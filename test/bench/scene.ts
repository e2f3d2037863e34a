import { noPermissions } from "../../shared/auth/permissions.ts";
import { recorder } from "../../shared/changes/recorder.ts";
import type { Context } from "../../shared/http/route.ts";
import type { Usage } from "../../shared/table/client.ts";
import type { Table } from "../../shared/table/table.ts";
import { codeContext } from "../support/code-context.ts";
import { newRoomyAccount } from "../support/roomy.ts";
import { testTable, type Account } from "../support/world.ts";

/** The measures of a call: its use of the table, its milliseconds, its processor milliseconds, and its value. */
type Measured<T> = Usage & { ms: number; cpuMs: number; value: T };
type BenchContext = Context & { table: Table };

/** A table that counts its use, and an account. By default, the account is new and has very high limits. */
export async function newScene(given?: Account) {
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const account = given ?? (await newRoomyAccount());
  const { id: accountId, owner } = account;
  const table = testTable(usage);
  const context = { ...codeContext(owner), table };
  const author = { action: "bench", actor: { type: "user" as const, id: owner.id }, requestId: "bench" };
  /** The context of a route's `run` for the owner. It records no changes. */
  const plain: BenchContext = {
    ...context,
    principal: await context.authenticate(),
    permissions: { ...noPermissions, member: true, everything: true },
    commit: table.commit,
    answer: async (value) => value,
    chargeClass: async () => undefined,
  };
  /** The same context, which also records changes as a request does. */
  const recorded: BenchContext = { ...plain, commit: recorder({ table, accountId, author, now: plain.now }) };
  const measure = async <T>(run: () => Promise<T>): Promise<Measured<T>> => {
    Object.assign(usage, { readUnits: 0, writeUnits: 0, calls: 0 });
    const [startedAt, cpuAt] = [performance.now(), process.cpuUsage()];
    const value = await run();
    const { user, system } = process.cpuUsage(cpuAt);
    return { ...usage, ms: performance.now() - startedAt, cpuMs: (user + system) / 1000, value };
  };
  return { account, accountId, table, context, plain, recorded, measure };
}
