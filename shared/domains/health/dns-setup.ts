import * as z from "zod";

import { platform } from "../../core/platform.ts";
import { Timestamp } from "../../core/time.ts";
import { sendersOf } from "../../dedicated-ips/spf.ts";
import type { AnsweredRecord, Resolver } from "../../dns/answer.ts";
import { RecordType } from "../../dns/rrset.ts";
import type { Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import { DnsMode, type StoredDomain } from "../domain.ts";
import { aheadOfDomain, expectedDomainId } from "../find.ts";
import { Dkim, dkimKey, selectors } from "../records/dkim-keys.ts";
import { publicKeyIn } from "../records/mail-policies.ts";
import { absoluteName } from "../records/names.ts";
import { countLookups } from "../records/spf-lookups.ts";
import { withSpfTerms } from "../records/spf.ts";
import { systemRecords, type SystemRecord } from "../records/system-records.ts";
import { mailChecks, proofCheck } from "./health.ts";
import { type Check, spfTerms } from "./mail-checks.ts";
import { proofRecord, proofState, type ProofState } from "./proof.ts";

const Purpose = z.enum([
  "ns",
  "proof",
  "mx",
  "spf",
  "dkim",
  "dkim_next",
  "dkim_former",
  "dmarc",
  "autoconfig",
  "autodiscover",
  "mta_sts",
  "tls_rpt",
  "redirect",
]);

const SetupRecord = z
  .object({
    purpose: Purpose.meta({
      description:
        "The purpose of the record. During a rotation of the DKIM key, `dkim_next` is the record of the new key, which signs once its record is seen. `dkim_former` is the record of the key that signed before.",
    }),
    type: RecordType.meta({ description: "The record's type." }),
    name: z.string().meta({ description: "The record's name in the domain. `@` is the domain itself." }),
    full_name: z.string().meta({ description: "The record's full name." }),
    value: z.string().nullable().meta({
      description:
        "The value to publish. If the domain's SPF record is `different`, the value is that record with our terms added. Null for the DKIM record before its key is made. The key of an external domain is made at once. The key of a hosted domain is made when the domain becomes active.",
    }),
    priority: z.int().nullable().meta({ description: "The priority of an MX record; else null." }),
    required: z.boolean().meta({ description: "Whether mail depends on the record." }),
    published_by: z.enum(["customer", "service"]).meta({
      description: "`service` if our nameservers publish the record, so that there is nothing to do.",
    }),
    status: z.enum(["ok", "missing", "different", "unknown"]).meta({
      description:
        "The state of the record in the public DNS. With `unknown` the DNS gave no answer. A DMARC policy of your own is `ok` for an external domain.",
    }),
    observed: z.array(z.string()).meta({ description: "The values that the public DNS has at the record's name." }),
    message: z.string().meta({ description: "The meaning of the status, or the next step, for people." }),
  })
  .meta({ id: "DnsSetupRecord", description: "A record to publish for a domain." });
type SetupRecord = z.output<typeof SetupRecord>;

export const DnsSetup = z
  .object({
    domain: z.string().meta({ description: "The domain's name." }),
    dns_mode: DnsMode.meta({ description: "The host of the domain's DNS." }),
    is_complete: z.boolean().meta({ description: "Whether all required records are `ok`." }),
    checked_at: Timestamp.meta({ description: "When the public DNS was queried." }),
    records: z.array(SetupRecord).meta({ description: "All records to publish for the domain." }),
  })
  .meta({ id: "DnsSetup", description: "The records to publish for a domain, with their values in the public DNS." });
export type DnsSetup = z.output<typeof DnsSetup>;

/** The items that `domainInPath` and `dnsSetup` read, except the domain's dedicated IP. */
export function aheadOfDnsSetup(accountId: string, name: string, expected: Expected): Ahead {
  const { keys, ...ahead } = aheadOfDomain(expected, accountId, name);
  const id = expectedDomainId(expected.seen, accountId, name);
  return { ...ahead, keys: id === undefined ? keys : [...keys, dkimKey(accountId, id)] };
}

const isOptional = ({ purpose }: SystemRecord): boolean => purpose in benefits;
/** Whether a record belongs to a DKIM key that does not sign at present. */
const isOtherKey = ({ purpose }: SystemRecord): boolean => purpose === "dkim_next" || purpose === "dkim_former";

/** The place of a record in the answer. The records are in the order of `Purpose`. */
const placeOf = ({ purpose }: SetupRecord): number => Purpose.options.indexOf(purpose);

/**
 * The records to publish for a domain, with the present values of these records in the public DNS. The domain can have
 * either DNS mode, and need not be proved. Writes nothing.
 */
export async function dnsSetup(
  domain: StoredDomain,
  { table, resolver, now }: { table: Reader; resolver: Resolver; now: Date },
): Promise<DnsSetup> {
  const [dkim, senders] = await Promise.all([
    table.get(dkimKey(domain.account_id, domain.id), Dkim),
    sendersOf(table, domain),
  ]);
  const expected = systemRecords(domain, dkim ?? { selector: selectors[0], public_key: "" }, senders);
  const [proof, checks, keys, optional] = await Promise.all([
    proofState(resolver, domain),
    mailChecks({ resolver, domain }, expected),
    Promise.all(expected.filter(isOtherKey).map((record) => keyRecord(record, domain, resolver))),
    Promise.all(expected.filter(isOptional).map((record) => optionalRecord(record, domain, resolver))),
  ]);
  const mail = await Promise.all(
    expected.flatMap((record) => {
      const check = checks.find(({ name }) => name === record.purpose);
      return check ? [mailRecord(record, check, { domain, resolver, hasKey: dkim !== undefined })] : [];
    }),
  );
  const records = [...proofRecords(domain, proof), ...mail, ...keys, ...optional].toSorted(
    (a, b) => placeOf(a) - placeOf(b),
  );
  return {
    domain: domain.name,
    dns_mode: domain.dns_mode,
    is_complete: records.every(({ required, status }) => !required || status === "ok"),
    checked_at: now.toISOString(),
    records,
  };
}

type Observation = Pick<SetupRecord, "status" | "observed" | "message">;

const required = new Set<SystemRecord["purpose"]>(["mx", "spf", "dkim"]);

/** A system record in the form of the answer. Our nameservers publish it if they host the domain. */
function setupRecord(domain: StoredDomain, record: SystemRecord, value: string | null, seen: Observation): SetupRecord {
  return {
    purpose: record.purpose,
    type: record.type,
    name: record.name,
    full_name: absoluteName(record.name, domain.name),
    value,
    priority: record.priority ?? null,
    required: required.has(record.purpose),
    published_by: domain.dns_mode === "hosted" ? "service" : "customer",
    ...seen,
  };
}

/** The status of a record. `isThere` says whether the wanted value is among the `observed` values. */
function statusOf(observed: readonly string[], isThere: boolean): "ok" | "missing" | "different" {
  if (isThere) return "ok";
  return observed.length === 0 ? "missing" : "different";
}

/** The records that prove the name: the NS records of a hosted domain, or the TXT record of an external domain. */
function proofRecords(domain: StoredDomain, proof: ProofState): SetupRecord[] {
  const { status: checked, message } = proofCheck(domain, proof);
  const common = { priority: null, required: true, published_by: "customer", message } as const;
  if (domain.dns_mode === "hosted") {
    const observed = proof.delegation?.observed ?? [];
    const place = { purpose: "ns", type: "NS", name: "@", full_name: domain.name } as const;
    return domain.nameservers.map((value) => {
      const status = checked === "unknown" ? checked : statusOf(observed, observed.includes(value));
      return { ...common, ...place, value, status, observed };
    });
  }
  const { name, value } = proofRecord(domain);
  const { verified, observed = [] } = proof.record ?? {};
  const status = verified === undefined ? "unknown" : statusOf(observed, verified);
  const place = { purpose: "proof", type: "TXT", name, full_name: absoluteName(name, domain.name) } as const;
  return [{ ...common, ...place, value, status, observed }];
}

/** A record of the domain's mail with the result of its check. */
async function mailRecord(
  record: SystemRecord,
  check: Check,
  { domain, resolver, hasKey }: { domain: StoredDomain; resolver: Resolver; hasKey: boolean },
): Promise<SetupRecord> {
  const { observed = [], message } = check;
  const isWithoutKey = record.purpose === "dkim" && !hasKey;
  if (check.status === "unknown") {
    return setupRecord(domain, record, isWithoutKey ? null : record.value, { status: "unknown", observed, message });
  }
  // One check covers all MX records, but each record has a status and a message of its own.
  if (record.purpose === "mx" && check.status === "fail") {
    const isThere = observed.some((text) => text.endsWith(` ${record.value}`));
    const own = isThere ? "The record is correct." : `Mail does not go to ${record.value}.`;
    return setupRecord(domain, record, record.value, { status: statusOf(observed, isThere), observed, message: own });
  }
  // A record with a warning counts as right, with two exceptions: a DMARC record, and a record that lacks something
  // (`missing`).
  const isWrong = record.purpose === "dmarc" || check.missing !== undefined;
  const isRight = check.status === "pass" || (check.status === "warn" && !isWrong);
  const seen = { status: statusOf(observed, isRight), observed, message };
  if (isWithoutKey) {
    return setupRecord(domain, record, null, { ...seen, message: "The key of this record is not made yet." });
  }
  if (record.purpose !== "spf" || seen.status !== "different") return setupRecord(domain, record, record.value, seen);
  const value = withSpfTerms(observed, spfTerms(record.value));
  const counted = await countLookups({ domain: domain.name, text: value, own: platform().spfInclude }, resolver);
  const fault = "fault" in counted && counted.fault.message !== message ? ` ${counted.fault.message}` : "";
  return setupRecord(domain, record, value, { ...seen, message: `${message}${fault}` });
}

/** The types of records for which `valuesAt` asks the DNS. */
const askedTypes = new Set(["A", "AAAA", "TXT", "CNAME"] as const);

/** The values that the public DNS has for a record's name and type. If the DNS gave no answer, `fault` says why. */
async function valuesAt({ name, type }: SystemRecord, domain: StoredDomain, resolver: Resolver) {
  const typeToAsk = [...askedTypes].find((asked) => asked === type) ?? "TXT";
  const answer = await resolver.resolve(absoluteName(name, domain.name), typeToAsk);
  if (answer.status === "unknown") return { fault: `The record could not be checked: ${answer.reason}.` };
  const found = answer.status === "found" ? answer.records.filter((one) => one.type === type) : [];
  return { values: found.flatMap(valueOf) };
}

function valueOf(record: AnsweredRecord): string[] {
  if (record.type === "TXT") return [record.text];
  if (record.type === "CNAME") return [record.host];
  return record.type === "A" || record.type === "AAAA" ? [record.address] : [];
}

const keyMessages = {
  ok: "The record is correct.",
  missing: "The rotation of the key waits for this record.",
  different: "The record has another key. The rotation of the key waits for this record.",
};

/** The record of a key that does not sign at present. */
async function keyRecord(record: SystemRecord, domain: StoredDomain, resolver: Resolver): Promise<SetupRecord> {
  const { values: observed = [], fault } = await valuesAt(record, domain, resolver);
  if (fault !== undefined) return setupRecord(domain, record, record.value, unknownNow(fault));
  const status = statusOf(
    observed,
    observed.some((text) => publicKeyIn(text) === publicKeyIn(record.value)),
  );
  const message = record.purpose === "dkim_former" ? formerMessage : keyMessages[status];
  return setupRecord(domain, record, record.value, { status, observed, message });
}

const formerMessage =
  "Mail that is still on its way may be signed with this key. Keep the record until `removes_at` in the domain's `dkim_keys`.";

const unknownNow = (message: string): Observation => ({ status: "unknown", observed: [], message });

/** The benefit of each record that no check of `mailChecks` covers, except the records of DKIM keys. */
const benefits: Partial<Record<SystemRecord["purpose"], string>> = {
  autoconfig: "mail programs find their settings by themselves",
  autodiscover: "mail programs find their settings by themselves",
  mta_sts: "senders find the domain's MTA-STS policy",
  tls_rpt: "senders report failed TLS connections",
  redirect: "browsers reach the domain's redirect",
};

/** A record that mail does not depend on, with its present values in the public DNS. */
async function optionalRecord(record: SystemRecord, domain: StoredDomain, resolver: Resolver): Promise<SetupRecord> {
  const { values: observed = [], fault } = await valuesAt(record, domain, resolver);
  if (fault !== undefined) return setupRecord(domain, record, record.value, unknownNow(fault));
  const status = statusOf(observed, observed.includes(record.value));
  const benefit = benefits[record.purpose] ?? "";
  const messages = {
    ok: "The record is correct.",
    missing: `With this record, ${benefit}.`,
    different: `The record has another value. With our value, ${benefit}.`,
  };
  return setupRecord(domain, record, record.value, { status, observed, message: messages[status] });
}
