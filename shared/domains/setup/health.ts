import * as z from "zod";

import { Timestamp } from "../../core/time.ts";
import type { Resolver } from "../../dns/answer.ts";
import { RecordType } from "../../dns/rrset.ts";
import type { StoredDomain } from "../domain.ts";
import type { ParsedRecord } from "../records/record.ts";
import { delegationState } from "./delegation.ts";
import { advised, checkBlocklists, checkMx, checkSpf, checkText, type Check } from "./mail-checks.ts";

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
    description: "A record to add where the domain's DNS is hosted, in the form of `dns_records.add`.",
  });

const HealthCheck = z
  .object({
    name: z
      .enum(["ns", "mx", "spf", "dkim", "dmarc", "mta_sts", "tls_rpt", "blocklist"])
      .meta({ description: "What was checked." }),
    status: z.enum(["pass", "warn", "fail", "unknown"]).meta({
      description:
        "`warn` is advice. With `unknown` the check could not be completed, and says nothing about the domain.",
    }),
    expected: z.array(z.string()).nullable().meta({ description: "The expected values." }),
    observed: z.array(z.string()).nullable().meta({ description: "The values that were found." }),
    message: z.string().meta({ description: "What the result means, or what to do, for people." }),
    missing_record: MissingRecord.nullable().meta({ description: "The record to add, if one is missing." }),
  })
  .meta({ id: "DomainHealthCheck", description: "One check of a domain." });

export const Health = z
  .object({
    domain: z.string().meta({ description: "The domain's name." }),
    status: z.enum(["healthy", "degraded", "failing", "unknown"]).meta({
      description:
        "`failing` if mail does not arrive, `degraded` if something else is wrong. A domain with warnings only is `healthy`.",
    }),
    checked_at: Timestamp.meta({ description: "When the DNS was queried." }),
    checks: z.array(HealthCheck).meta({ description: "The checks and their results." }),
  })
  .meta({ id: "DomainHealth", description: "The state of a domain in the public DNS." });
type Health = z.output<typeof Health>;

export const HealthEnvironment = z.object({
  /**
   * Blocklists of spam senders to look up domains in, separated by commas, such as `dbl.example.org`. Some require
   * payment.
   */
  BLOCKLIST_ZONES: z
    .string()
    .default("")
    .transform((text) => text.split(",").filter((part) => part !== "")),
});

type HealthQuestion = { resolver: Resolver; domain: string };

const waiting = (name: Check["name"]): Check => ({
  name,
  status: "unknown",
  message: "The domain gets this record once it is delegated to us.",
});

/** A check of a record that was added to the zone here: if it is missing in the DNS, it must not be added again. */
function added(check: Check): Check {
  const { missing, ...rest } = check;
  if (!missing || check.observed?.length !== 0) return check;
  return { ...rest, message: "The record was added here. The public DNS does not show it yet." };
}

/** Whether the domain is delegated to us. */
export async function checkNs(
  { resolver }: { resolver: Resolver },
  { name, nameservers }: StoredDomain,
): Promise<Check> {
  const { verified, observed, message } = await delegationState(resolver, name, nameservers);
  const about = { name: "ns" as const, expected: [...nameservers], message };
  if (verified === undefined) return { ...about, status: "unknown" };
  return { ...about, observed, status: verified ? "pass" : "fail" };
}

const dkimKey = (text: string): string => /p=([A-Za-z0-9+/=]*)/.exec(text.replaceAll(/\s/g, ""))?.[1] ?? "";
const policyOf = (text: string): string => /;\s*p=(\w+)/i.exec(text)?.[1]?.toLowerCase() ?? "";

/** Checks the records that a domain's mail depends on, all at the same time. */
export async function mailChecks(
  asked: HealthQuestion,
  expected: readonly ParsedRecord[] | undefined,
): Promise<Check[]> {
  if (!expected) return [waiting("mx"), waiting("spf"), waiting("dkim"), waiting("dmarc")];
  const mx = expected.filter(({ type }) => type === "MX");
  const [spf, dkim, dmarc] = expected.filter(({ type }) => type === "TXT");
  if (!spf || !dkim || !dmarc) throw new Error("the system records have lost one");
  return Promise.all([
    checkMx(asked, mx),
    checkSpf(asked, spf),
    checkText("dkim", asked, dkim, {
      begins: /^v=DKIM1|(?:^|;)\s*p=/i,
      isRight: (text) => dkimKey(text) === dkimKey(dkim.value),
      wrong: "fail",
    }),
    checkText("dmarc", asked, dmarc, {
      begins: /^v=DMARC1/i,
      isRight: (text) => policyOf(text) === policyOf(dmarc.value),
      wrong: "fail",
    }),
  ]);
}

/**
 * Checks a domain in the public DNS. All questions are asked at the same time, so this takes no longer than the
 * resolver allows for one question. `inZone` names the checks whose records are in the zone here.
 */
export async function healthOf(
  domain: StoredDomain,
  expected: readonly ParsedRecord[] | undefined,
  { resolver, inZone, now }: { resolver: Resolver; inZone: ReadonlySet<Check["name"]>; now: Date },
): Promise<Health> {
  const { BLOCKLIST_ZONES: zones } = HealthEnvironment.parse(process.env);
  const asked = { resolver, domain: domain.name };
  const [ns, mail, sts, tls, listed] = await Promise.all([
    checkNs(asked, domain),
    mailChecks(asked, expected),
    checkText("mta_sts", asked, advised.mta_sts, { begins: /^v=STSv1/i, isRight: () => true, wrong: "warn" }),
    checkText("tls_rpt", asked, advised.tls_rpt(domain.name), {
      begins: /^v=TLSRPTv1/i,
      isRight: () => true,
      wrong: "warn",
    }),
    checkBlocklists(asked, zones),
  ]);
  const checks = [ns, ...mail, ...[sts, tls].map((check) => (inZone.has(check.name) ? added(check) : check)), listed];
  return {
    domain: domain.name,
    status: overallStatus(checks),
    checked_at: now.toISOString(),
    checks: checks.map(checkView),
  };
}

/** The overall status of the checks. Without delegation or MX no mail arrives at all. */
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
