import { platform } from "../../core/platform.ts";
import { sendersOf } from "../../dedicated-ips/spf.ts";
import type { DnsAnswer, AnsweredRecord, Resolver } from "../../dns/answer.ts";
import type { Budget } from "../../dns/budget.ts";
import type { Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { StoredDomain } from "../domain.ts";
import { aheadOfDomain, expectedDomainId } from "../find.ts";
import { Dkim, dkimKey } from "../records/dkim-keys.ts";
import type { ParsedRecord } from "../records/record.ts";
import { countLookups } from "../records/spf-lookups.ts";
import { isSpf, lackingSpfTerms, mostLookups } from "../records/spf.ts";
import { systemRecords, type SystemRecord } from "../records/system-records.ts";

type CheckName = "ns" | "proof" | "mx" | "spf" | "dkim" | "dmarc" | "mta_sts" | "tls_rpt" | "blocklist";

/**
 * The result of a check. `unknown` means that the check could not be completed. The result then says nothing about the
 * domain.
 */
export type Check = {
  name: CheckName;
  status: "pass" | "warn" | "fail" | "unknown";
  expected?: string[];
  observed?: string[];
  message: string;
  missing?: ParsedRecord;
};

/**
 * The domain to check, and the resolver for the check. One DNS question takes 4 seconds at most. The further steps of a
 * check, such as the look-ups of an SPF record, end when `budget` is used up.
 */
export type HealthQuestion = { resolver: Resolver; domain: string; budget?: Budget | undefined };

/** The records of an answer, or the result of the check if there is no answer. */
function recordsOf(
  name: CheckName,
  answer: DnsAnswer,
  expected: string[],
): { records: readonly AnsweredRecord[] } | { check: Check } {
  if (answer.status === "unknown") {
    return {
      check: { name, status: "unknown", expected, message: `The record could not be checked: ${answer.reason}.` },
    };
  }
  return { records: answer.status === "found" ? answer.records : [] };
}

const texts = (records: readonly AnsweredRecord[]): string[] =>
  records.flatMap((record) => (record.type === "TXT" ? [record.text] : []));

/** Checks that mail for the domain goes to the wanted hosts, and to no others. */
export async function checkMx({ resolver, domain }: HealthQuestion, wanted: readonly ParsedRecord[]): Promise<Check> {
  const expected = wanted.map(({ priority, value }) => `${priority} ${value}`);
  const read = recordsOf("mx", await resolver.resolve(domain, "MX"), expected);
  if ("check" in read) return read.check;
  const found = read.records.flatMap((record) => (record.type === "MX" ? [record] : []));
  const observed = found.map(({ priority, host }) => `${priority} ${host}`).toSorted();
  const hosts = new Set(found.map(({ host }) => host));
  const missing = wanted.find(({ value }) => !hosts.has(value));
  const strangers = [...hosts].filter((host) => wanted.every(({ value }) => value !== host));
  if (missing) {
    return {
      name: "mx",
      status: "fail",
      expected,
      observed,
      message: `Mail does not go to ${missing.value}.`,
      missing,
    };
  }
  if (strangers.length > 0) {
    return { name: "mx", status: "warn", expected, observed, message: `Mail also goes to ${strangers.join(", ")}.` };
  }
  return { name: "mx", status: "pass", expected, observed, message: "Mail goes to us." };
}

/** The terms of an SPF record that name senders: includes and addresses. */
export const spfTerms = (record: string): string[] =>
  record.split(" ").filter((term) => /^(?:include|ip4|ip6):/.test(term));

/**
 * Checks that the domain has one SPF record, which allows the domain's senders (RFC 7208). Terms after `all` do not
 * count, because receivers never reach them. An external domain whose record lacks only some of its `spf_includes` gets
 * a warning, because mail from us passes.
 */
export async function checkSpf(
  { resolver, domain, budget }: HealthQuestion,
  wanted: ParsedRecord,
  { dns_mode, spf_includes }: Pick<StoredDomain, "dns_mode" | "spf_includes">,
): Promise<Check> {
  const expected = [wanted.value];
  const read = recordsOf("spf", await resolver.resolve(domain, "TXT"), expected);
  if ("check" in read) return read.check;
  const observed = texts(read.records).filter(isSpf);
  const [only] = observed;
  const about = { name: "spf" as const, expected, observed };
  if (only === undefined) return { ...about, status: "fail", message: "There is no SPF record.", missing: wanted };
  if (observed.length > 1) {
    return { ...about, status: "fail", message: "There are several SPF records, so receivers accept none. Keep one." };
  }
  const lacking = lackingSpfTerms(only, spfTerms(wanted.value));
  if (lacking.length === 0) {
    return { ...about, ...(await spfCost(only, { resolver, domain, budget })) };
  }
  const isBehindAll = lacking.some((term) => only.toLowerCase().includes(term));
  const hint = isBehindAll ? ' Receivers ignore the terms after "all".' : "";
  const others = new Set(spf_includes.map((name) => `include:${name}`));
  // Without our own include, mail from us does not pass. So our include is not one of the others, even if
  // `spf_includes` has its name.
  others.delete(`include:${platform().spfInclude}`);
  if (dns_mode === "external" && lacking.every((term) => others.has(term))) {
    const message = `The SPF record allows mail from us. It lacks ${lacking.join(" ")} of the domain's spf_includes.${hint}`;
    return { ...about, status: "warn", message, missing: wanted };
  }
  return {
    ...about,
    status: "fail",
    message: `The SPF record does not allow all senders of the domain. Add ${lacking.join(" ")} to it.${hint}`,
    missing: wanted,
  };
}

/**
 * The result for an SPF record that allows mail from us. The check fails if counting the look-ups finds a fault, such
 * as too many look-ups, because receivers reject a record with such a fault.
 */
async function spfCost(
  text: string,
  { resolver, domain, budget }: HealthQuestion,
): Promise<Pick<Check, "status" | "message">> {
  const counted = await countLookups({ domain, text, own: platform().spfInclude }, resolver, budget);
  if ("fault" in counted) return { status: "fail", message: counted.fault.message };
  const allows = "The SPF record allows mail from us";
  if ("unknown" in counted) {
    return { status: "warn", message: `${allows}. Its DNS look-ups could not be counted: ${counted.unknown}.` };
  }
  return { status: "pass", message: `${allows}, with ${counted.lookups} of at most ${mostLookups} DNS look-ups.` };
}

/**
 * Checks that a name has exactly one text with the right beginning, and that the text is right. If not, `wrong` is the
 * status of the result.
 */
export async function checkText(
  name: CheckName,
  { resolver, domain }: HealthQuestion,
  wanted: ParsedRecord,
  { begins, isRight, wrong }: { begins: RegExp; isRight: (text: string) => boolean; wrong: "warn" | "fail" },
): Promise<Check> {
  const expected = [wanted.value];
  const read = recordsOf(name, await resolver.resolve(`${wanted.name}.${domain}`, "TXT"), expected);
  if ("check" in read) return read.check;
  const observed = texts(read.records).filter((text) => begins.test(text));
  const [only] = observed;
  const about = { name, expected, observed };
  if (only === undefined) {
    return { ...about, status: wrong, message: `There is no record of this kind at ${wanted.name}.`, missing: wanted };
  }
  if (observed.length > 1)
    return { ...about, status: wrong, message: `There are several records of this kind at ${wanted.name}. Keep one.` };
  if (isRight(only)) return { ...about, status: "pass", message: "The record is correct." };
  return { ...about, status: wrong, message: "The record has another value.", missing: wanted };
}

/**
 * Checks the record for reports on TLS connections (RFC 8460). If the domain has no `tls_report_email`, its owner may
 * have made a record. So any record for such reports is right, and a missing record is only a warning.
 */
export async function checkTlsRpt(
  asked: HealthQuestion,
  expected: readonly SystemRecord[] | undefined,
): Promise<Check> {
  const name = "tls_rpt";
  const begins = /^v=TLSRPTv1/i;
  const wanted = expected?.find(({ purpose }) => purpose === name);
  if (wanted) {
    return checkText(name, asked, wanted, { begins, isRight: (text) => text === wanted.value, wrong: "fail" });
  }
  const record: ParsedRecord = { name: "_smtp._tls", type: "TXT", value: "", ttl: 0 };
  const {
    missing: _,
    expected: __,
    ...check
  } = await checkText(name, asked, record, {
    begins,
    isRight: () => true,
    wrong: "warn",
  });
  if (check.status !== "warn" || check.observed?.length !== 0) return check;
  return { ...check, message: "Nobody gets reports on failed TLS connections. To get them, set tls_report_email." };
}

/**
 * Whether a blocklist has the domain. An answer of 127.255.255.x does not say this. With such an answer, the list
 * refuses the question.
 */
const isListed = (answer: DnsAnswer): boolean =>
  answer.status === "found" &&
  answer.records.some((record) => record.type === "A" && /^127\.(?!255\.255\.)/.test(record.address));

/** Checks whether blocklists of spam senders have the domain (RFC 5782). */
export async function checkBlocklists({ resolver, domain }: HealthQuestion, zones: readonly string[]): Promise<Check> {
  const name = "blocklist";
  if (zones.length === 0) return { name, status: "unknown", message: "No blocklist is configured." };
  const answers = await Promise.all(zones.map((zone) => resolver.resolve(`${domain}.${zone}`, "A")));
  const listedIn = zones.filter((_, index) => answers[index] && isListed(answers[index]));
  if (listedIn.length > 0) {
    return { name, status: "fail", observed: listedIn, message: `The domain is on ${listedIn.join(", ")}.` };
  }
  const isClear = answers.every(({ status }) => status === "absent" || status === "none");
  if (isClear) return { name, status: "pass", message: "The domain is on no blocklist." };
  return { name, status: "unknown", message: "A blocklist does not answer." };
}

/** The items that `domainInPath` and `expectedRecords` read, except the domain's dedicated IP. */
export function aheadOfHealth(accountId: string, name: string, expected: Expected): Ahead {
  const { keys, ...ahead } = aheadOfDomain(expected, accountId, name);
  const id = expectedDomainId(expected.seen, accountId, name);
  if (id === undefined) return { ...ahead, keys };
  return { ...ahead, keys: [...keys, dkimKey(accountId, id)] };
}

/** The records that a domain needs for its mail; undefined before it has a DKIM key. */
export async function expectedRecords(table: Reader, domain: StoredDomain): Promise<SystemRecord[] | undefined> {
  const [dkim, senders] = await Promise.all([
    table.get(dkimKey(domain.account_id, domain.id), Dkim),
    sendersOf(table, domain),
  ]);
  return dkim && systemRecords(domain, dkim, senders);
}
