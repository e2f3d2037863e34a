import { accountIds } from "../../shared/accounts/account.ts";
import { getAccount } from "../../shared/accounts/visible.ts";
import { allFulfilled, mapConcurrently } from "../../shared/core/concurrency.ts";
import { Id } from "../../shared/core/ids.ts";
import { clock } from "../../shared/core/time.ts";
import { getZone, noteChanges, StoredZone } from "../../shared/domains/zone.ts";
import { pagesOf } from "../../shared/table/reads.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Command } from "./commands.ts";

/** How many zones of one account are noted at the same time. */
const zonesAtOnce = 8;

/**
 * Notes that all records of the account's zones have to be written to the nameservers again. Returns the number of
 * these zones. Leaves out zones that the nameservers should not have.
 */
async function publishZones(table: Table, accountId: string): Promise<number> {
  const range = { partition: `ACCOUNT#${accountId}`, from: "ZONE#", to: "ZONE#~" };
  let count = 0;
  for await (const rows of pagesOf(table, range, 250)) {
    const zones = rows.map((row) => StoredZone.parse(row)).filter(({ wanted }) => wanted);
    const noted = await mapConcurrently(zones, zonesAtOnce, ({ domain_id }) =>
      publishZone(table, accountId, domain_id),
    );
    count += allFulfilled(noted).filter(Boolean).length;
  }
  return count;
}

const publishZone = (table: Table, accountId: string, domainId: string): Promise<boolean> =>
  table.commit(async () => {
    const zone = await getZone(table, accountId, domainId);
    return zone?.wanted ? { value: true, writes: noteChanges(zone, "all", clock()) } : { value: false, writes: [] };
  });

/** The operator's commands for zones: docs/operations.md. */
export const zoneCommands: Record<string, Command> = {
  "zones publish": {
    summary:
      "Make the worker write all records of all zones to the nameservers again. Needed after a restore of the whole table.",
    options: { account: { description: "Only this account.", schema: Id.optional() } },
    run: async (table, { account }) => {
      const ids = account === undefined ? accountIds(table) : [(await getAccount(table, account)).id];
      let zones = 0;
      for await (const id of ids) zones += await publishZones(table, id);
      return { zones };
    },
  },
};
