import { ipDomainKey } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { readOperation } from "../../shared/dedicated-ips/operation.ts";
import { finishRelease } from "../../shared/deletion/domain.ts";
import { isSpf } from "../../shared/domains/records/spf.ts";
import { recordsIn } from "../../shared/domains/records/stored-record.ts";
import { spfRecord } from "../../shared/domains/records/system-records.ts";
import { contextOf, nowOf } from "./billing-scene.ts";
import { dns, doDue, registrar } from "./ips-actors.ts";
import { ipWorkOf, type IpScene } from "./ips-scene.ts";
import { dueAt } from "./purchases-facts.ts";
import type { Random } from "./random.ts";
import { mustHold, type World } from "./world.ts";

const mostRounds = 300;

/**
 * Runs the worker until no dedicated IP is being provisioned and no assignment is open. Then the domains must agree
 * with the counts of the IPs, with the IPs' lists of domains, and with the SPF records.
 */
export async function restOfIps(scene: IpScene, world: World, random: Random): Promise<void> {
  scene.isCalm = true;
  for (let round = 0; isOpen(scene); round++) {
    mustHold(round < mostRounds, () => "never comes to an end");
    const due = dueAt(scene, nowOf(scene, world)());
    for (const one of due) await doDue(one, ipWorkOf(scene, world, random));
    const next = [...scene.due.values()].map(({ at }) => Date.parse(at)).toSorted((a, b) => a - b)[0];
    mustHold(next !== undefined || !isOpen(scene), () => "something is not over, and nothing is due");
    const waitMs = (next ?? 0) - nowOf(scene, world)().getTime();
    if (due.length === 0 || waitMs <= 0) scene.aheadMs += waitMs > 0 ? waitMs : 60_000;
  }
  for (const ip of scene.rows.values()) {
    const operation = await readOperation(world.table, ip.account_id, ip.id);
    mustHold(operation === undefined, () => `${ip.id} has an operation that is not due`);
  }
  for (const { account_id, id, status } of scene.domains.values()) {
    const context = contextOf(scene, world, account_id);
    if (status === "releasing") await finishRelease(account_id, id, context, { dns, registrar });
  }
  await checkPlaces(scene, world);
  await checkRecords(scene, world);
}

const isOpen = ({ rows, due }: IpScene): boolean =>
  [...rows.values()].some(({ status }) => status === "provisioning") ||
  [...due.values()].some(({ queue }) => queue === "IP_OPERATION_DUE");

async function checkPlaces({ rows, domains }: IpScene, { table }: World): Promise<void> {
  for (const { id, account_id, domain_count } of rows.values()) {
    const own = [...domains.values()].filter(({ dedicated_ip_id }) => dedicated_ip_id === id).map((one) => one.id);
    const { PK, SK } = ipDomainKey(account_id, id);
    const places = (await table.between(PK, SK, `${SK}~`)).map((row) => row["domain_id"]);
    mustHold(domain_count === own.length, () => `${id} counts ${domain_count} of ${own.length} domains`);
    mustHold(String(places) === String(own.toSorted()), () => `${id} lists other domains than its own`);
  }
}

async function checkRecords({ rows, domains }: IpScene, { table }: World): Promise<void> {
  for (const { id, account_id, name, dedicated_ip_id, status } of domains.values()) {
    const ip = [...rows.values()].find((one) => one.id === dedicated_ip_id);
    const wanted = spfRecord((ip?.addresses ?? []).map((address) => address.ip)).value;
    const spf = (await recordsIn(table, account_id, id, "@", "TXT")).find(({ value }) => isSpf(value));
    // A domain that is being released may have lost its records already.
    const isRight = spf === undefined || spf.value === wanted || status === "releasing";
    mustHold(isRight, () => `${name} says ${spf?.value}, and should say ${wanted}`);
  }
}
