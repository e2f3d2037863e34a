import { externalNameservers, publishRecords } from "../../infra/local/dns/external.ts";
import { proofRecord } from "../../shared/domains/health/proof.ts";
import { parseRecord } from "../../shared/domains/records/input.ts";
import type { RecordInput } from "../../shared/domains/records/record.ts";
import { delegate } from "../../shared/providers/registrar/embedded-names.ts";
import { dkimOf, storedAs } from "./domain-work.ts";
import { connected, uniqueName } from "./domains.ts";
import { testTable, type Account } from "./world.ts";

/** Publishes all records of a name at another DNS host, and delegates the name to it. */
export async function publish(name: string, records: readonly RecordInput[]): Promise<void> {
  const parsed = records.map((record) => {
    const read = parseRecord(record, name);
    if ("record" in read) return read.record;
    throw new Error(read.faults.map(({ message }) => message).join("; "));
  });
  await publishRecords(testTable(), name, parsed);
  await delegate(testTable(), name, externalNameservers);
}

/** The record that proves a name for an account. */
export const proofOf = ({ id }: Pick<Account, "id">, name: string): RecordInput =>
  proofRecord({ account_id: id, name });

/**
 * Makes an external domain of the account. Returns the domain with the records for its proof and its mail, by their
 * purpose.
 */
export async function externalDomain(account: Account, { name = uniqueName() }: { name?: string } = {}) {
  const domain = await connected(account, { name, dnsMode: "external" });
  const { id } = await storedAs(account, name);
  const { public_key } = await dkimOf(account, id);
  const txt = (owner: string, value: string): RecordInput => ({ name: owner, type: "TXT", value });
  const mx = (host: string, priority: number): RecordInput => ({ name: "@", type: "MX", value: host, priority });
  return {
    ...domain,
    records: {
      proof: [proofOf(account, name)],
      mx: [mx("mx1.hosted-mail.example", 10), mx("mx2.hosted-mail.example", 20)],
      spf: [txt("@", "v=spf1 include:_spf.hosted-mail.example ~all")],
      dkim: [txt("hm1._domainkey", `v=DKIM1; k=rsa; p=${public_key}`)],
    },
  };
}
