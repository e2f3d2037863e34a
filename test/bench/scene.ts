import { noPermissions } from "../../shared/auth/permissions.ts";
import { recorder } from "../../shared/changes/recorder.ts";
import { planNewDomains } from "../../shared/domains/setup/new.ts";
import type { Context } from "../../shared/http/route.ts";
import type { Usage } from "../../shared/table/connection.ts";
import type { Table } from "../../shared/table/table.ts";
import { codeDoor } from "../support/code-door.ts";
import { newRoomyAccount } from "../support/roomy.ts";
import { testTable, type Account } from "../support/world.ts";

/** What a call consumed of the table, its milliseconds, and the value that it returned. */
type Measured<T> = Usage & { ms: number; value: T };
type BenchContext = Context & { table: Table };

/** A new account without tight limits, on a table that counts its use. */
export async function newScene(account?: Account) {
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const { id: accountId, owner } = account ?? (await newRoomyAccount());
  const table = testTable(usage);
  const door = { ...codeDoor(owner), table };
  const author = { action: "bench", actor: { type: "user" as const, id: owner.id }, requestId: "bench" };
  /** What a route's `run` gets for the owner. It records no changes. */
  const plain: BenchContext = {
    ...door,
    principal: await door.authenticate(),
    permissions: { ...noPermissions, member: true, everything: true },
    commit: table.commit,
    answer: async (value) => value,
  };
  /** The same, and changes are recorded as those of a request are. */
  const recorded: BenchContext = { ...plain, commit: recorder({ table, accountId, author, now: plain.now }) };
  const measure = async <T>(run: () => Promise<T>): Promise<Measured<T>> => {
    Object.assign(usage, { readUnits: 0, writeUnits: 0, calls: 0 });
    const startedAt = performance.now();
    const value = await run();
    return { ...usage, ms: performance.now() - startedAt, value };
  };
  return { accountId, table, door, plain, recorded, measure };
}

/** Puts domains into an account, eight in a transaction, without a check of their DNS. Returns their ids. */
export async function fillDomains(
  table: Table,
  place: { accountId: string; workspaceId: string; status: "pending_delegation" | "active" },
  names: readonly string[],
): Promise<string[]> {
  const { status, ...of } = place;
  const taken = () => () => new Error("a name is taken");
  const ids: string[] = [];
  for (let start = 0; start < names.length; start += 8) {
    const settings = { source: "connected" as const, status, auto_renew: false, due_at: null };
    const given = names.slice(start, start + 8).map((name) => ({ name, ...settings }));
    const made = await table.commit(async () => {
      const at = { ...of, now: new Date() };
      const { domains, writes } = await planNewDomains(table, at, given, { taken, exists: taken });
      return { value: domains.map(({ id }) => id), writes };
    });
    ids.push(...made);
  }
  return ids;
}
