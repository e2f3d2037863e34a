import * as z from "zod";

import { Timestamp } from "../../core/time.ts";
import type { Resolver } from "../../dns/answer.ts";
import { type Budget, openBudget } from "../../dns/budget.ts";
import { RecordType } from "../../dns/rrset.ts";
import type { StoredDomain } from "../domain.ts";
import { dmarcFault, publicKeyIn } from "../records/mail-policies.ts";
import type { SystemRecord } from "../records/system-records.ts";
import {
  checkBlocklists,
  checkMx,
  checkSpf,
  checkText,
  checkTlsRpt,
  type Check,
  type HealthQuestion,
} from "./mail-checks.ts";
import { checkMtaSts } from "./mta-sts.ts";
import { proofRecord, proofState, type ProofState } from "./proof.ts";

const MissingRecord = z
  .object({
    name: z.string().meta({ description: "The record's name in the domain. `@` is the domain itself." }),
    type: RecordType.meta({ description: "The record's type." }),
    value: z.string().meta({ description: "The record's value." }),
    ttl: z.int().meta({ description: "How long resolvers keep the record, in seconds." }),
    priority: z.int().optional().meta({ description: "The priority of an MX record. Other records do not have it." }),
  })
  .meta({
    id: "MissingDnsRecord",
    description:
      "A record that is missing in the public DNS, or has another value there. For an external domain, add it at your DNS host, or correct the record that is there. For a hosted domain our nameservers publish it. Do not add it with `dns_records.add`, which refuses it with `system_managed`.",
  });

const HealthCheck = z
  .object({
    name: z
      .enum(["ns", "proof", "mx", "spf", "dkim", "dmarc", "mta_sts", "tls_rpt", "blocklist"])
      .meta({ description: "The name of the check. Hosted domains have `ns`, external domains have `proof`." }),
    status: z.enum(["pass", "warn", "fail", "unknown"]).meta({
      description:
        "`warn` is advice. With `unknown` the check could not be completed, and says nothing about the domain.",
    }),
    expected: z.array(z.string()).nullable().meta({ description: "The expected values." }),
    observed: z.array(z.string()).nullable().meta({ description: "The values that were found." }),
    message: z.string().meta({ description: "The meaning of the result, or the next step, for people." }),
    missing_record: MissingRecord.nullable().meta({ description: "The record to add or to correct, if there is one." }),
  })
  .meta({ id: "DomainHealthCheck", description: "One check of a domain." });

export const Health = z
  .object({
    domain: z.string().meta({ description: "The domain's name." }),
    status: z.enum(["healthy", "degraded", "failing", "unknown"]).meta({
      description:
        "`failing` if the delegation or the MX records are wrong, `degraded` if something else is wrong. A domain with warnings only is `healthy`. With `unknown`, the delegation or the MX records could not be checked.",
    }),
    checked_at: Timestamp.meta({ description: "When the DNS was queried." }),
    checks: z.array(HealthCheck).meta({ description: "The checks and their results." }),
  })
  .meta({ id: "DomainHealth", description: "The state of a domain in the public DNS." });
type Health = z.output<typeof Health>;

export const HealthEnvironment = z.object({
  /**
   * The zones of blocklists of spam senders, separated by commas, such as `dbl.example.org`. The health check looks up
   * the domain in each zone. Some blocklists require payment.
   */
  BLOCKLIST_ZONES: z
    .string()
    .default("")
    .transform((text) => text.split(",").filter((part) => part !== "")),
});

/** The result of a mail check for a domain whose mail records are not made yet. */
const waitingCheck = (name: Check["name"], { dns_mode }: Pick<StoredDomain, "dns_mode">): Check => ({
  name,
  status: "unknown",
  message:
    dns_mode === "hosted"
      ? "The domain gets this record once it is delegated to us."
      : "The value of this record is known once the domain's DKIM key is made, usually in a few minutes.",
});

/** The check of the name's proof: its delegation to us, or the TXT record of an external domain. */
export function proofCheck(domain: StoredDomain, { verified, message, delegation, record }: ProofState): Check {
  const missing = proofRecord(domain);
  const isHosted = domain.dns_mode === "hosted";
  const about = isHosted
    ? { name: "ns" as const, expected: [...domain.nameservers], message }
    : { name: "proof" as const, expected: [missing.value], message };
  if (verified === undefined) return { ...about, status: "unknown" };
  const observed = (isHosted ? delegation : record)?.observed ?? [];
  if (verified) return { ...about, observed, status: "pass" };
  return { ...about, observed, status: "fail", ...(isHosted ? {} : { missing }) };
}

/** The policy in the text of a DMARC record; empty if there is none. */
const dmarcPolicyIn = (text: string): string => /;\s*p=(\w+)/i.exec(text)?.[1]?.toLowerCase() ?? "";

/**
 * Checks the record of the key that signs. During a rotation, the owner may already have replaced this record by the
 * record of the next key. The result is then a warning, because the next key will soon sign.
 */
async function checkDkim(asked: HealthQuestion, signing: SystemRecord, next: SystemRecord | undefined): Promise<Check> {
  const [check, nextCheck] = await Promise.all([checkKey(asked, signing), next && checkKey(asked, next)]);
  if (check.status !== "fail" || nextCheck?.status !== "pass") return check;
  const { missing: _, ...about } = check;
  return { ...about, status: "warn", message: "Only the new key is in the DNS. It will sign soon." };
}

const checkKey = (asked: HealthQuestion, record: SystemRecord): Promise<Check> =>
  checkText("dkim", asked, record, {
    begins: /^v=DKIM1|(?:^|;)\s*p=/i,
    isRight: (text) => publicKeyIn(text) === publicKeyIn(record.value),
    wrong: "fail",
  });

/** Whether a check found no fault. */
export const isRight = ({ status }: Check): boolean => status === "pass" || status === "warn";

/** Whether the checks of SPF and DKIM found no fault. */
export const isSendingRight = (checks: readonly Check[]): boolean =>
  checks.filter((check) => (check.name === "spf" || check.name === "dkim") && isRight(check)).length === 2;

/**
 * Checks the MX, SPF, DKIM and DMARC records of a domain, all at the same time. An external domain may have a DMARC
 * policy that differs from its settings. Without `expected`, the checks are `unknown`. `budget` limits the look-ups of
 * the SPF record.
 */
export async function mailChecks(
  {
    resolver,
    domain,
    budget,
  }: { resolver: Resolver; domain: Pick<StoredDomain, "name" | "dns_mode" | "spf_includes">; budget?: Budget },
  expected: readonly SystemRecord[] | undefined,
): Promise<Check[]> {
  const asked = { resolver, domain: domain.name, budget };
  const isHosted = domain.dns_mode === "hosted";
  if (!expected) return (["mx", "spf", "dkim", "dmarc"] as const).map((name) => waitingCheck(name, domain));
  const mx = expected.filter(({ purpose }) => purpose === "mx");
  const [spf, dkim, dmarc] = (["spf", "dkim", "dmarc"] as const).map((one) =>
    expected.find(({ purpose }) => purpose === one),
  );
  if (!spf || !dkim || !dmarc) throw new Error("a system record for mail is missing");
  return Promise.all([
    checkMx(asked, mx),
    checkSpf(asked, spf, domain),
    checkDkim(
      asked,
      dkim,
      expected.find(({ purpose }) => purpose === "dkim_next"),
    ),
    checkText("dmarc", asked, dmarc, {
      begins: /^v=DMARC1/i,
      isRight: (text) =>
        isHosted ? dmarcPolicyIn(text) === dmarcPolicyIn(dmarc.value) : dmarcFault(text) === undefined,
      wrong: isHosted ? "fail" : "warn",
    }),
  ]);
}

/** The time for all checks of a domain, in milliseconds. */
const healthMs = 4_500;

/**
 * Checks a domain in the public DNS, and fetches its MTA-STS policy. All checks run at the same time, and take less
 * than 5 seconds. A check without an answer by then is `unknown`. But if only the look-ups of the SPF record could not
 * be counted, the check of SPF is a warning.
 */
export async function healthOf(
  domain: StoredDomain,
  expected: readonly SystemRecord[] | undefined,
  { resolver, now }: { resolver: Resolver; now: Date },
): Promise<Health> {
  const { BLOCKLIST_ZONES: zones } = HealthEnvironment.parse(process.env);
  const budget = openBudget(healthMs, Infinity);
  const asked = { resolver, domain: domain.name, budget };
  const [proof, mail, sts, tls, listed] = await Promise.all([
    proofState(resolver, domain),
    mailChecks({ resolver, domain, budget }, expected),
    checkMtaSts(asked, domain, expected),
    domain.tls_report_email !== null && !expected ? waitingCheck("tls_rpt", domain) : checkTlsRpt(asked, expected),
    checkBlocklists(asked, zones),
  ]);
  const checks = [proofCheck(domain, proof), ...mail, sts, tls, listed];
  return {
    domain: domain.name,
    status: overallStatus(checks),
    checked_at: now.toISOString(),
    checks: checks.map(checkView),
  };
}

/**
 * The overall status of the checks. The status is `failing` if the check of the delegation or of the MX records fails,
 * because mail then fails to arrive, or arrives late.
 */
export function overallStatus(checks: readonly Check[]): Health["status"] {
  const failed = checks.filter(({ status }) => status === "fail").map(({ name }) => name);
  if (failed.includes("ns") || failed.includes("mx")) return "failing";
  if (failed.length > 0) return "degraded";
  const vital = checks.filter(({ name }) => name === "ns" || name === "mx");
  return vital.some(({ status }) => status === "unknown") ? "unknown" : "healthy";
}

const checkView = ({ name, status, expected, observed, message, missing }: Check): Health["checks"][number] => ({
  name,
  status,
  expected: expected ?? null,
  observed: observed ?? null,
  message,
  missing_record: missing
    ? {
        name: missing.name,
        type: missing.type,
        value: missing.value,
        ttl: missing.ttl,
        ...(missing.priority === undefined ? {} : { priority: missing.priority }),
      }
    : null,
});
