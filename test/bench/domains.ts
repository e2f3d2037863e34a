import { domainByName } from "../../shared/domains/find.ts";
import { listDomains } from "../../shared/domains/list.ts";
import { purchaseDomains } from "../../shared/domains/purchase/purchase.ts";
import { domainDetail } from "../../shared/domains/setup/detail.ts";
import { embeddedRegistrar } from "../../shared/providers/registrar/embedded.ts";
import { addWorkspace } from "../../shared/workspaces/workspace.ts";
import { fund } from "../support/billing.ts";
import { contact } from "../support/contact.ts";
import { fillDomains } from "../support/many-domains.ts";
import type { Options, Result } from "./harness.ts";
import { newScene } from "./scene.ts";

const nameOf = (index: number): string => `number-${index}.com`;

/**
 * Measures the read units of pages and of one domain in an account of 20,000 domains, and the milliseconds of buying 50
 * names.
 */
export async function run({ quick }: Options): Promise<Result> {
  const count = quick ? 2_000 : 20_000;
  const { accountId, table, recorded: context, measure } = await newScene();
  const { id: workspaceId } = await addWorkspace(accountId, "One", context);
  const names = Array.from({ length: count }, (_, index) => nameOf(index));
  await fillDomains(table, { accountId, workspaceId }, names);
  const page = (number: number, filter: object = {}) =>
    measure(() => listDomains(accountId, { page: number, page_size: 25, order: "asc", ...filter }, context));
  const [first, last] = [await page(1), await page(count / 25)];
  const of = { workspace_id: workspaceId };
  const [firstOf, lastOf] = [await page(1, of), await page(count / 25, of)];
  const search = await page(1, { search: "number-199" });
  const searchOf = await page(1, { search: "number-199", ...of });
  const filterOf = await page(1, { status: "active", ...of });
  const found = await measure(async () => {
    const domain = await domainByName(table, accountId, nameOf(count >> 1));
    return domain && domainDetail(domain, context);
  });
  await fund({ id: accountId }, 1_000_000);
  const domains = Array.from({ length: 50 }, (_, index) => `bought-${index}.com`);
  const checkouts = () => {
    throw new Error("a checkout was made, although the wallet has enough money");
  };
  const services = { registrar: embeddedRegistrar(table, () => new Date()), checkouts };
  const wish = { workspace_id: workspaceId, domains, contact_info: contact };
  const bought = await measure(() => purchaseDomains(accountId, wish, context, services));
  return {
    figures: [
      { name: `page 1 of ${count} domains`, value: first.readUnits, unit: "read units" },
      { name: "last page of domains / page 1", value: last.readUnits / first.readUnits, unit: "×", bar: 1.2 },
      { name: "page 1 of a workspace's domains", value: firstOf.readUnits, unit: "read units" },
      {
        name: "last page of a workspace's domains / page 1",
        value: lastOf.readUnits / firstOf.readUnits,
        unit: "×",
        bar: 1.2,
      },
      { name: "a domain by its name, without records", value: found.readUnits, unit: "read units", bar: 1.5 },
      { name: "a search over all domains", value: search.readUnits, unit: "read units", bar: 600 },
      {
        name: "a search in a workspace that holds all domains",
        value: searchOf.readUnits,
        unit: "read units",
        bar: 680,
      },
      {
        name: "a filter by status in a workspace that holds all domains",
        value: filterOf.readUnits,
        unit: "read units",
        bar: 4_300,
      },
      { name: "50 names in one purchase", value: bought.ms, unit: "ms", bar: 2_000 },
      { name: "… of which are being registered", value: bought.value.successful_count, unit: "names" },
    ],
  };
}
