import { domainByName } from "../../shared/domains/find.ts";
import { listDomains } from "../../shared/domains/list.ts";
import { purchaseDomains } from "../../shared/domains/purchase/purchase.ts";
import { domainDetail } from "../../shared/domains/setup/detail.ts";
import { planNewDomains } from "../../shared/domains/setup/new.ts";
import type { Context } from "../../shared/http/route.ts";
import { embeddedRegistrar } from "../../shared/providers/registrar/embedded.ts";
import type { Usage } from "../../shared/table/connection.ts";
import type { Table } from "../../shared/table/table.ts";
import { planWallet } from "../../shared/wallet/wallet.ts";
import { addWorkspace } from "../../shared/workspaces/workspace.ts";
import { contact } from "../support/contact.ts";
import { benchContext, meter } from "./context.ts";
import { onOwnEngine } from "./engine.ts";
import type { Figure } from "./suite.ts";

const count = 20_000;
const batch = 8;

/** What pages and a domain cost in an account of 20,000 domains, and how long it takes to buy 50 names. */
export const domainCost = (): Promise<Figure[]> => onOwnEngine(measure);

async function measure(): Promise<Figure[]> {
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const context = benchContext(usage);
  const { accountId } = context;
  const { id: workspaceId } = await addWorkspace(accountId, "One", context);
  await fill(context, accountId, workspaceId);
  const spent = meter(usage);
  const page = (number: number, more: object = {}) =>
    spent(() => listDomains(accountId, { page: number, page_size: 25, ...more }, context));
  const [first, last] = [await page(1), await page(count / 25)];
  const of = { workspace_id: workspaceId };
  const [firstOf, lastOf] = [await page(1, of), await page(count / 25, of)];
  const search = await page(1, { search: "number-1999" });
  const found = await spent(async () => {
    const domain = await domainByName(context.table, accountId, nameOf(count >> 1));
    return domain && domainDetail(domain, context);
  });
  const bought = await buy(accountId, workspaceId, context);
  return [
    { name: `page 1 of ${count} domains`, value: first.readUnits, unit: "read units" },
    { name: "last page of domains / page 1", value: last.readUnits / first.readUnits, unit: "×", bar: 1.2 },
    { name: "page 1 of a workspace's domains", value: firstOf.readUnits, unit: "read units" },
    { name: "its last page / page 1", value: lastOf.readUnits / firstOf.readUnits, unit: "×", bar: 1.2 },
    { name: "a domain by its name, without records", value: found.readUnits, unit: "read units", bar: 1.5 },
    { name: "a search over all of them", value: search.readUnits, unit: "read units" },
    ...bought,
  ];
}

const nameOf = (index: number): string => `number-${index}.com`;

const unexpected = () => new Error("a name is taken");

async function fill({ table }: { table: Table }, accountId: string, workspaceId: string): Promise<void> {
  for (let start = 0; start < count; start += batch) {
    const given = Array.from({ length: batch }, (_, index) => ({
      name: nameOf(start + index),
      source: "connected" as const,
      status: "pending_delegation" as const,
      auto_renew: false,
      due_at: null,
    }));
    const refusals = { taken: () => unexpected, exists: () => unexpected };
    await table.commit(async () => {
      const place = { accountId, workspaceId, now: new Date() };
      return { value: undefined, ...(await planNewDomains(table, place, given, refusals)) };
    });
  }
}

async function buy(accountId: string, workspaceId: string, context: Context & { table: Table }): Promise<Figure[]> {
  const { table } = context;
  await table.commit(async () => {
    const money = { debit: "payments", credit: "wallet", amount: 1_000_000, code: "topup" } as const;
    const posting = { kind: "transfer", id: "bench", type: "topup", description: "Bench", ...money } as const;
    const { writes } = await planWallet(table, accountId, [posting], new Date());
    return { value: undefined, writes };
  });
  const domains = Array.from({ length: 50 }, (_, index) => `bought-${index}.com`);
  const startedAt = performance.now();
  const answer = await purchaseDomains(
    accountId,
    { workspace_id: workspaceId, domains, contact_info: contact },
    context,
    {
      registrar: embeddedRegistrar(table, () => new Date()),
      checkouts: () => {
        throw new Error("the wallet is full");
      },
    },
  );
  return [
    { name: "50 names in one purchase", value: performance.now() - startedAt, unit: "ms", bar: 2_000 },
    { name: "… of which are being registered", value: answer.successful_count, unit: "names" },
  ];
}
