import { createAccount } from "../../shared/access/operate-accounts.ts";
import { advanceIp } from "../../shared/dedicated-ips/advance.ts";
import { reserveIp } from "../../shared/dedicated-ips/claim.ts";
import { addStock } from "../../shared/dedicated-ips/stock.ts";
import { domainsOf, StoredDomain } from "../../shared/domains/domain.ts";
import { domainById } from "../../shared/domains/find.ts";
import { selectors } from "../../shared/domains/records/dkim-keys.ts";
import { planActivation } from "../../shared/domains/setup/activate.ts";
import { addDomain } from "../../shared/domains/setup/add.ts";
import { domainUpdate } from "../../shared/domains/setup/work.ts";
import { getZone, zoneDueKey, zoneKey } from "../../shared/domains/zone.ts";
import { readRows } from "../../shared/table/ranked-list.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Write } from "../../shared/table/writes.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { addWorkspace } from "../../shared/workspaces/workspace.ts";
import { keyOf } from "../support/memory-writes.ts";
import { fund } from "./beforehand.ts";
import { contextOf } from "./billing-scene.ts";
import { walletInvariant } from "./billing-wallet-books.ts";
import { ipActors } from "./ips-actors.ts";
import { ipInvariant } from "./ips-books.ts";
import { restOfIps } from "./ips-rest.ts";
import { ipObserver, ipWorkOf, newIpScene, resolverOf, stockName, stockOf, type IpScene } from "./ips-scene.ts";
import { ledgerInvariant } from "./ledger-books.ts";
import { ofAccounts } from "./of-accounts.ts";
import { isDomainRow } from "./purchases-facts.ts";
import type { Random } from "./random.ts";
import type { Module, World } from "./world.ts";

const at = (write: Write): string => {
  const { PK, SK } = keyOf(write);
  return `${PK} ${SK}`;
};

const isChanging = (write: Write): boolean => !("check" in write);

/** Dedicated IPs of two accounts that want the same addresses. Domains move between the dedicated IPs. */
export const ipsModule: Module = {
  name: "dedicated-ips",
  bugs: {
    // Two conditions guard a claim: the condition on the holder, and the condition on the row of the free address.
    "ip-holder": (write) => /^IP#\S+ HOLDER$|^IP_STOCK FREE#/.test(at(write)),
    "ip-version": (write) => isChanging(write) && at(write).includes("LIST#dedicated_ips#ROW#"),
    "ip-operation": (write) => isChanging(write) && at(write).includes("IP_OPERATION#"),
    // The fence of `dropOperation` (settle.ts) only adds to the version of a domain.
    "ip-fence": (write) => isDomainRow(keyOf(write).SK) && "update" in write && write.set === undefined,
    "ip-domain-move": (write) => isDomainRow(keyOf(write).SK) && "update" in write && write.set !== undefined,
  },
  open: (random) => {
    const scene = newIpScene();
    const randomBefore = random.fork();
    return {
      actors: ipActors(scene),
      prepare: (world) => prepare(scene, world, randomBefore),
      quiet: (world, calm) => restOfIps(scene, world, calm),
      invariants: () => [
        ofAccounts(scene.accounts, ipObserver(scene)),
        ipInvariant(scene.accounts),
        ...scene.accounts.flatMap((id) => [ledgerInvariant(walletOf(id)), walletInvariant(scene, id)]),
      ],
    };
  },
};

/**
 * Makes two accounts with some money and a few domains, half of the domains with records. Makes the operator's stock.
 */
async function prepare(scene: IpScene, world: World, random: Random): Promise<void> {
  const { table } = world;
  for (const ip of stockOf(3)) {
    const rest = { option_id: scene.option, country_code: "DE", asn: 64_500, relay: "10.0.0.7:25" };
    await addStock(table, { ip, rdns: stockName(ip), ...rest });
  }
  const client = { id: "90000000-0000-4000-8000-000000000000", name: "A client" };
  for (const id of scene.accounts) {
    await createAccount(table, { id, client, name: "An account", ownerId: id }, world.now());
    await fund(scene, world, id, random.pick([2_500, 10_000, 100_000]));
    const context = contextOf(scene, world, id);
    const workspace = await addWorkspace(id, "One", context);
    for (let index = 0; index < 4; index++) {
      const name = `d${index}${id.charAt(0)}.com`;
      const added = await addDomain(id, { name, workspaceId: workspace.id }, context, resolverOf(scene, world, random));
      if (index % 2 === 0) await activate(id, added.id, context);
    }
    await setAside(table, id);
    if (random.chance(0.8)) await readyOne(scene, world, random, id);
  }
}

/**
 * Takes the domains and zones of an account out of the queues, so that no worker checks or syncs them. This module does
 * not simulate that work.
 */
async function setAside(table: Table, accountId: string): Promise<void> {
  const { rows } = await readRows(table, domainsOf(accountId), { skip: 0, take: 100 });
  for (const domain of rows.map((row) => StoredDomain.parse(row))) {
    await table.commit(async () => ({ value: undefined, writes: domainUpdate(domain, { due_at: null }).writes }));
    const zone = await getZone(table, accountId, domain.id);
    if (zone?.due_at) await table.attempt({ delete: zoneDueKey(zone, zone.due_at) });
    await table.attempt({ update: zoneKey(accountId, domain.id), set: { wanted: false, due_at: null } });
  }
}

/** Makes a managed dedicated IP that is ready when the schedule begins. */
async function readyOne(scene: IpScene, world: World, random: Random, accountId: string): Promise<void> {
  const wish = { accountId, optionId: scene.option, name: undefined };
  const { id, created_at } = await reserveIp(wish, contextOf(scene, world, accountId));
  scene.isCalm = true;
  await advanceIp(accountId, id, created_at, ipWorkOf(scene, world, random));
  scene.isCalm = false;
}

async function activate(accountId: string, id: string, context: ReturnType<typeof contextOf>): Promise<void> {
  const { table, commit, now } = context;
  const dkim = {
    selector: selectors[0],
    public_key: "AAAA",
    sealed_private_key: "none",
    created_at: now().toISOString(),
  };
  await commit(async () => {
    const domain = await domainById(table, accountId, id);
    if (!domain) throw new Error(`there is no ${id}`);
    const { writes, changes } = await planActivation(table, domain, dkim, now());
    return { value: undefined, writes, changes };
  });
}
