import { generateKeyPairSync } from "node:crypto";
import { Resolver } from "node:dns/promises";

import { advanceDomain } from "../../functions/workers/advance-domains.ts";
import { domainKey, StoredDomain, type Domain } from "../../shared/domains/domain.ts";
import { domainByName } from "../../shared/domains/find.ts";
import { recordCountWrite } from "../../shared/domains/records/add.ts";
import { Dkim, dkimKey, selectors, type KeyPair } from "../../shared/domains/records/dkim-keys.ts";
import { planRecords } from "../../shared/domains/records/plan.ts";
import type { ParsedRecord } from "../../shared/domains/records/record.ts";
import { syncZone } from "../../shared/domains/records/sync.ts";
import { planActivation } from "../../shared/domains/setup/activate.ts";
import { domainWork } from "../../shared/domains/setup/services.ts";
import { systemWriter, type DomainWork } from "../../shared/domains/setup/work.ts";
import { domainView } from "../../shared/domains/view.ts";
import { getZone } from "../../shared/domains/zone.ts";
import { embeddedRegistrar } from "../../shared/providers/registrar/embedded.ts";
import type { Write } from "../../shared/table/writes.ts";
import { connected, delegated } from "./domains.ts";
import { testTable, type Account } from "./world.ts";

type Of = Pick<Account, "id">;

/** The context of the worker for domains, at a given time. */
export function workAt(at: Date, others: Partial<DomainWork> = {}): DomainWork {
  const now = (): Date => at;
  return { ...domainWork("test"), now, registrar: embeddedRegistrar(testTable(), now), ...others };
}

/** A domain, as it is stored. Undefined if the account has no domain of this name. */
export const stored = ({ id }: Of, name: string): Promise<StoredDomain | undefined> =>
  domainByName(testTable(), id, name);

/** A domain, as it is stored. Throws if there is none. */
export async function storedAs(account: Of, name: string): Promise<StoredDomain> {
  const domain = await stored(account, name);
  if (!domain) throw new Error(`there is no ${name}`);
  return domain;
}

/** Runs the worker for a domain at its due time. Returns the new state of the domain. */
export async function advance(
  account: Of,
  name: string,
  others: Partial<DomainWork> = {},
): Promise<StoredDomain | undefined> {
  const { id, due_at } = await storedAs(account, name);
  if (due_at === null) throw new Error(`nothing is due of ${name}`);
  await advanceDomain(account.id, id, due_at, workAt(new Date(due_at), others));
  return domainOf(account, id);
}

/** A domain by its id, under any name. */
export async function domainOf({ id: accountId }: Of, id: string): Promise<StoredDomain | undefined> {
  const [row] = await testTable().getMany([domainKey(accountId, id)]);
  return row && StoredDomain.parse(row);
}

/** Changes the stored members of a domain, without the product. */
export async function setStored(account: Of, name: string, set: Record<string, unknown>): Promise<void> {
  const { id } = await storedAs(account, name);
  await write({ update: domainKey(account.id, id), set });
}

/** Makes one write, without the product. */
export async function write(write: Write): Promise<void> {
  await testTable().attempt(write);
}

/** The answer of the nameserver of all accounts: the data of each record as one text, or the code of the refusal. */
export async function dig(name: string, type: "A" | "MX" | "TXT" | "CNAME" | "NS" | "PTR"): Promise<string[] | string> {
  const resolver = new Resolver({ timeout: 2_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${process.env["TEST_DNS_PORT"]}`]);
  try {
    const records: unknown[] = await resolver.resolve(name, type).then((found) => [found].flat() as unknown[]);
    return records.map(textOf).toSorted();
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

function textOf(record: unknown): string {
  if (typeof record === "string") return record;
  if (Array.isArray(record)) return record.join("");
  const { priority, exchange } = record as { priority: number; exchange: string };
  return `${priority} ${exchange}`;
}

/** Gives a domain `count` A records, `r000` and so on. Adds up to 25 records in a transaction. */
export async function withRecords(account: Of, name: string, count: number): Promise<void> {
  const [table, atOnce] = [testTable(), 25];
  const { commit } = systemWriter({ table, now: () => new Date() }, account.id);
  for (let from = 0; from < count; from += atOnce) {
    const added = Array.from({ length: Math.min(atOnce, count - from) }, (_, index): ParsedRecord => {
      const owner = `r${String(from + index).padStart(3, "0")}`;
      return { name: owner, type: "A", value: `192.0.2.${(from + index) % 256}`, ttl: 3_600 };
    });
    await commit(async () => {
      const home = await storedAs(account, name);
      const zone = await getZone(table, account.id, home.id);
      if (!zone) throw new Error(`${name} has no zone`);
      const { sole, changes } = await planRecords(table, account.id, [{ zone, added }], new Date());
      return { value: undefined, writes: [recordCountWrite(home, added.length)], sole, changes };
    });
  }
}

/** One key for all domains, because making a key takes longer than the rest of a test. */
const anyKey = generateKeyPairSync("rsa", { modulusLength: 2_048 }).publicKey.export({ type: "spki", format: "der" });

/** Makes a domain as `active` of domains.ts does, in a tenth of the time. Its key has no private half. */
export async function quicklyActive(
  account: Account,
  options: { name?: string; workspaceId?: string } = {},
): Promise<Domain> {
  const { name } = await connected(account, options);
  await delegated(account, name);
  const work = workAt(new Date());
  const dkim: KeyPair = {
    selector: selectors[0],
    public_key: anyKey.toString("base64"),
    sealed_private_key: "none",
    created_at: work.now().toISOString(),
  };
  const { commit, table } = systemWriter(work, account.id);
  const domain = await commit(async () => {
    const { after, ...planned } = await planActivation(table, await storedAs(account, name), dkim, work.now());
    return { value: after, ...planned };
  });
  await syncZone(account.id, domain.id, work);
  return domainView(domain);
}

/** The key that signs a domain's mail. */
export async function dkimOf({ id }: Pick<Account, "id">, domainId: string): Promise<Dkim> {
  const key = await testTable().get(dkimKey(id, domainId), Dkim);
  if (!key) throw new Error("there is no key");
  return key;
}
