import { chunk } from "../../shared/core/concurrency.ts";
import { planNewDomains } from "../../shared/domains/setup/new.ts";
import type { Table } from "../../shared/table/table.ts";
import { newWorkspace } from "./auth.ts";
import { quicklyActive } from "./domain-work.ts";
import { uniqueName } from "./domains.ts";
import { testTable, type Account } from "./world.ts";

/** Puts domains into a workspace, eight in a transaction, without a check of their DNS. */
export async function fillDomains(
  table: Table,
  place: { accountId: string; workspaceId: string },
  names: readonly string[],
): Promise<void> {
  const settings = { source: "connected", status: "pending_delegation", auto_renew: false, due_at: null } as const;
  const taken = () => () => new Error("a name is taken");
  for (const some of chunk(8, names)) {
    const given = some.map((name) => ({ name, ...settings }));
    await table.commit(async () => {
      const at = { ...place, now: new Date() };
      const { writes } = await planNewDomains(table, at, given, { taken, exists: taken });
      return { value: undefined, writes };
    });
  }
}

/** Makes domains of an account, every fourth of them active with records. Returns their names. */
export async function stockedDomains(account: Account, count: number): Promise<string[]> {
  const workspaceId = await newWorkspace(account, `Many ${uniqueName()}`);
  const names = Array.from({ length: count }, () => uniqueName());
  const isActive = (index: number) => index % 4 === 0;
  const waiting = names.filter((_, index) => !isActive(index));
  await fillDomains(testTable(), { accountId: account.id, workspaceId }, waiting);
  for (const [index, name] of names.entries()) if (isActive(index)) await quicklyActive(account, { name, workspaceId });
  return names;
}
