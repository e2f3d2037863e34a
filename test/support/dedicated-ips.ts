import { randomBytes } from "node:crypto";

import { advanceIp } from "../../shared/dedicated-ips/advance.ts";
import type { IpContext } from "../../shared/dedicated-ips/change.ts";
import { ipById, ipDomainKey, ipsOf, StoredIp, type DedicatedIp } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { Holder, holderKey } from "../../shared/dedicated-ips/holder.ts";
import { operationKey, readOperation } from "../../shared/dedicated-ips/operation.ts";
import { ipContext } from "../../shared/dedicated-ips/services.ts";
import { addStock } from "../../shared/dedicated-ips/stock.ts";
import { resumeOne } from "../../shared/dedicated-ips/sweep.ts";
import { domainsOf, StoredDomain } from "../../shared/domains/domain.ts";
import { isSpf } from "../../shared/domains/records/spf.ts";
import { recordsIn } from "../../shared/domains/records/stored-record.ts";
import { spfRecord } from "../../shared/domains/records/system-records.ts";
import { readRows } from "../../shared/table/ranked-list.ts";
import { uniqueName } from "./domains.ts";
import { request, type Answer } from "./request.ts";
import { publicIp, reverseDns } from "./reverse-dns.ts";
import { testTable, type Account, type User } from "./world.ts";

type Of = Pick<Account, "id">;

/** Sends a request about the account's dedicated IPs, for its owner unless another user is given. */
export const send = (
  { id, owner }: Account,
  method: string,
  path = "",
  body?: unknown,
  { headers = {}, as = owner }: { headers?: Record<string, string>; as?: Pick<User, "token"> } = {},
): Promise<Answer> =>
  request(method, `/v1/public/accounts/${id}/dedicated-ips${path}`, {
    token: as.token,
    headers,
    ...(body === undefined ? {} : { body }),
  });

/** Makes an option of the stock that no other test has, with `count` free addresses. Their reverse DNS is right. */
export async function newOption(
  count = 1,
  more: { country_code?: string; relay?: string } = {},
): Promise<{ option_id: string; ips: string[] }> {
  const option_id = `test-${randomBytes(6).toString("hex")}`;
  const ips = Array.from({ length: count }, () => publicIp());
  for (const ip of ips) {
    const rest = { country_code: "DE", asn: 64_500, relay: "10.0.0.7:25", ...more };
    await addStock(testTable(), { ip, option_id, rdns: `mail.${uniqueName("ip")}`, ...rest });
  }
  return { option_id, ips };
}

/** Claims a managed dedicated IP, which is still being provisioned. The account must have money. */
export async function claimed(account: Account, optionId?: string): Promise<DedicatedIp> {
  const option_id = optionId ?? (await newOption()).option_id;
  const { status, body, text } = await send(account, "POST", "/claim", { option_id });
  if (status !== 201) throw new Error(text);
  return body as DedicatedIp;
}

/** A dedicated IP, as it is stored. Undefined if the account has none with this id. */
export const storedIp = ({ id: accountId }: Of, id: string): Promise<StoredIp | undefined> =>
  ipById(testTable(), accountId, id);

/** The context of the worker for dedicated IPs, at a given time. */
export const workAt = (at: Date, others: Partial<IpContext> = {}): IpContext => ({
  ...ipContext("test"),
  now: () => at,
  ...others,
});

/** Runs the worker for a dedicated IP at its due time. Returns its new state. */
export async function advance(account: Of, id: string, others: Partial<IpContext> = {}): Promise<StoredIp | undefined> {
  const due = (await storedIp(account, id))?.due_at;
  if (due === undefined || due === null) throw new Error(`nothing is due of ${id}`);
  await advanceIp(account.id, id, due, workAt(new Date(due), others));
  return storedIp(account, id);
}

/** Makes an active managed dedicated IP. The account must have money. */
export async function activeIp(account: Account, optionId?: string): Promise<DedicatedIp> {
  const { id } = await claimed(account, optionId);
  if ((await advance(account, id))?.status !== "active") throw new Error(`${id} is not active`);
  return (await send(account, "GET", `/${id}`)).body as DedicatedIp;
}

/** Adds a host of the account's own. */
export async function host(account: Account, ips: readonly string[] = [publicIp()]): Promise<DedicatedIp> {
  const { status, body, text } = await send(account, "POST", "", { name: "Own host", ip_addresses: ips });
  if (status !== 201) throw new Error(text);
  return body as DedicatedIp;
}

/** The first address of a dedicated IP. */
export function firstOf({ ip_addresses }: DedicatedIp): DedicatedIp["ip_addresses"][number] {
  const [first] = ip_addresses;
  if (!first) throw new Error("it has no address");
  return first;
}

/** Gives each address of a host its name, in both directions. */
export async function named({ ip_addresses }: DedicatedIp): Promise<void> {
  for (const { ip } of ip_addresses) await reverseDns(ip, `mail.${uniqueName("host")}`, { forward: true });
}

/** Publishes the texts of a host's setup records. */
export async function published({ ip_addresses }: DedicatedIp): Promise<void> {
  for (const { ip, rdns, setup_record } of ip_addresses) {
    await reverseDns(ip, rdns, { forward: true, txt: setup_record?.value ?? null });
  }
}

/** Makes a host with a setup key and published records. No check has run since. */
export async function readyHost(account: Account, ips?: readonly string[]): Promise<DedicatedIp> {
  const added = await host(account, ips);
  await named(added);
  const { body } = await send(account, "POST", `/${added.id}/authorize`, {});
  await published(body as DedicatedIp);
  return body as DedicatedIp;
}

/** Makes an active host of the account's own. */
export async function activeHost(account: Account, ips?: readonly string[]): Promise<DedicatedIp> {
  const { id } = await readyHost(account, ips);
  const { body, text } = await send(account, "POST", `/${id}/authorize`, {});
  if (body.status !== "active") throw new Error(text);
  return body as DedicatedIp;
}

/** The holder of an address; undefined if it has none. */
export async function holderOf(ip: string): Promise<Holder | undefined> {
  return testTable().get(holderKey(ip), Holder);
}

/** Runs the worker for an assignment that was left open, at its due time. */
export async function carriedOn(account: Of, id: string): Promise<void> {
  const operation = await readOperation(testTable(), account.id, id);
  if (!operation) return;
  await resumeOne(account.id, id, operation.due_at, workAt(new Date(operation.due_at)));
}

/** Finds wrong counts, lists and SPF records in the assignments of an account, and operations that are still open. */
export async function assignmentFaults({ id: accountId }: Of): Promise<string[]> {
  const table = testTable();
  const all = { skip: 0, take: 10_000 };
  const ips = (await readRows(table, ipsOf(accountId), all)).rows.map((row) => StoredIp.parse(row));
  const domains = (await readRows(table, domainsOf(accountId), all)).rows.map((row) => StoredDomain.parse(row));
  const faults: string[] = [];
  for (const ip of ips) {
    const own = domains.filter(({ dedicated_ip_id }) => dedicated_ip_id === ip.id).map(({ id }) => id);
    const { PK, SK } = ipDomainKey(accountId, ip.id);
    const places = (await table.between(PK, SK, `${SK}~`)).map((row) => String(row["domain_id"]));
    if (ip.domain_count !== own.length) faults.push(`${ip.name} counts ${ip.domain_count} of ${own.length} domains`);
    if (String(places) !== String(own.toSorted())) faults.push(`${ip.name} lists domains of others, or lacks some`);
    const [operation] = await table.getMany([operationKey(accountId, ip.id)]);
    if (operation) faults.push(`${ip.name} has an operation`);
  }
  for (const { id, name, dedicated_ip_id } of domains) {
    const ip = ips.find((one) => one.id === dedicated_ip_id);
    if (dedicated_ip_id !== null && !ip) faults.push(`${name} has an IP that is gone`);
    const spf = (await recordsIn(table, accountId, id, "@", "TXT")).find(({ value }) => isSpf(value));
    const wanted = spfRecord((ip?.addresses ?? []).map((address) => address.ip)).value;
    if (spf && spf.value !== wanted) faults.push(`${name} says ${spf.value}`);
  }
  return faults;
}
