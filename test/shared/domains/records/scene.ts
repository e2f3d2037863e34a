import { randomUUID } from "node:crypto";

import { Problem } from "../../../../shared/core/errors.ts";
import { createLog } from "../../../../shared/core/log.ts";
import type { RecordType } from "../../../../shared/dns/rrset.ts";
import { planRecords } from "../../../../shared/domains/records/plan.ts";
import { recordsIn, type StoredRecord } from "../../../../shared/domains/records/stored-record.ts";
import { syncZone } from "../../../../shared/domains/records/sync.ts";
import { systemWriter } from "../../../../shared/domains/setup/work.ts";
import { getZone, newZone } from "../../../../shared/domains/zone.ts";
import type { Dns } from "../../../../shared/providers/dns/dns.ts";
import { embeddedDns, zoneAt } from "../../../../shared/providers/dns/embedded.ts";
import type { Table } from "../../../../shared/table/table.ts";
import { createMemoryStore, openMemoryTable } from "../../../support/memory-table.ts";

const log = createLog("silent", {});

/** The error of a provider that does not answer. */
export const silence = (): Problem => new Problem("upstream_unavailable", "Nobody answers.", { retry_after: 1 });

/** A domain with its zone in a new table, with an embedded provider and a clock. */
export async function newScene() {
  const table = openMemoryTable(createMemoryStore());
  const accountId = randomUUID();
  const domain = { id: randomUUID(), name: "example.com", nameservers: ["ns1.example.net", "ns2.example.net"] };
  const clock = { at: new Date("2026-03-01T12:00:00Z") };
  const now = (): Date => clock.at;
  await table.commit(async () => ({ value: undefined, writes: [newZone(accountId, domain).write] }));

  const { commit } = systemWriter({ table, now }, accountId);

  const zone = async () => {
    const found = await getZone(table, accountId, domain.id);
    if (!found) throw new Error("there is no zone");
    return found;
  };
  const add = (...given: { name: string; type?: RecordType; value?: string }[]): Promise<StoredRecord[]> =>
    commit(async () => {
      const parsed = given.map(({ name, type = "A", value = "192.0.2.1" }) => ({ name, type, value, ttl: 60 }));
      const edit = { zone: await zone(), added: parsed, wanted: true };
      const { records, ...planned } = await planRecords(table, accountId, [edit], now());
      return { value: records, writes: [], ...planned };
    });
  const records = () => recordsIn(table, accountId, domain.id);
  const remove = (...names: string[]): Promise<void> =>
    commit(async () => {
      const removed = (await records()).filter(({ name }) => names.includes(name));
      const { sole, changes } = await planRecords(table, accountId, [{ zone: await zone(), removed }], now());
      return { value: undefined, writes: [], sole, changes };
    });
  const provider = embeddedDns(table);

  return {
    table,
    accountId,
    provider,
    zone,
    add,
    remove,
    records,
    now,
    wait: (ms: number) => void (clock.at = new Date(clock.at.getTime() + ms)),
    /** Syncs the zone with the embedded provider. `own` replaces some of the provider's methods. */
    sync: (own: Partial<Dns> = {}, over: Table = table) =>
      syncZone(accountId, domain.id, { table: over, dns: { ...provider, ...own }, now, log }),
    /** `<name> <type>` of the RRsets on the nameservers, without the NS records of the domain. */
    served: async (): Promise<string[]> => {
      const found = await zoneAt(table, domain.name);
      const names = found?.rrsets.map(({ name, type }) => `${name.slice(0, -domain.name.length - 1)} ${type}`) ?? [];
      return names.filter((name) => name !== " NS").toSorted();
    },
  };
}

/** `count` names of records. */
export const many = (count: number, prefix = "n"): { name: string }[] =>
  Array.from({ length: count }, (_, index) => ({ name: `${prefix}${String(index).padStart(3, "0")}` }));

export type Scene = Awaited<ReturnType<typeof newScene>>;

/** Adds records in transactions of 25 records. */
export async function addMany({ add }: Scene, names: { name: string }[]): Promise<void> {
  for (let from = 0; from < names.length; from += 25) await add(...names.slice(from, from + 25));
}
