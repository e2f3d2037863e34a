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
    name: z.string().meta({ description: "Its name in the domain; `@` is the domain itself." }),
    type: RecordType.meta({ description: "Its type." }),
    value: z.string().meta({ description: "Its value." }),
    ttl: z.int().meta({ description: "How long resolvers keep it, in seconds." }),
    priority: z.int().optional().meta({ description: "Of MX records, and not there for others." }),
  })
  .meta({
    id: "MissingDnsRecord",
    description: "A record to add where the domain's DNS is hosted, as `dns_records.add` takes it.",
  });

const HealthCheck = z
  .object({
    name: z
      .enum(["ns", "mx", "spf", "dkim", "dmarc", "mta_sts", "tls_rpt", "blocklist"])
      .meta({ description: "What was looked at." }),
    status: z.enum(["pass", "warn", "fail", "unknown"]).meta({
      description: "`warn` is advice; `unknown` could not be found out, and says nothing about the domain.",
    }),
    expected: z.array(z.string()).nullable().meta({ description: "What should be there." }),
    observed: z.array(z.string()).nullable().meta({ description: "What is there." }),
    message: z.string().meta({ description: "What it means, or what to do, for people." }),
    missing_record: MissingRecord.nullable().meta({ description: "The record to add, where one is missing." }),
  })
  .meta({ id: "DomainHealthCheck", description: "One thing that was looked at." });

export const Health = z
  .object({
    domain: z.string().meta({ description: "The domain's name." }),
    status: z.enum(["healthy", "degraded", "failing", "unknown"]).meta({
      description: "`failing`: mail does not come. `degraded`: something else is wrong. Warnings alone are healthy.",
    }),
    checked_at: Timestamp.meta({ description: "When the DNS was asked." }),
    checks: z.array(HealthCheck).meta({ description: "What was looked at." }),
  })
  .meta({ id: "DomainHealth", description: "What the public DNS says of a domain." });
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

type Asked = { resolver: Resolver; domain: string };

const waiting = (name: Check["name"]): Check => ({
  name,
  status: "unknown",
  message: "The domain gets this record once it is delegated to us.",
});

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

const keyOf = (text: string): string => /p=([A-Za-z0-9+/=]*)/.exec(text.replaceAll(/\s/g, ""))?.[1] ?? "";
const policyOf = (text: string): string => /;\s*p=(\w+)/i.exec(text)?.[1]?.toLowerCase() ?? "";

/** Checks the records that a domain's mail depends on, all at the same time. */
export async function mailChecks(asked: Asked, expected: readonly ParsedRecord[] | undefined): Promise<Check[]> {
  if (!expected) return [waiting("mx"), waiting("spf"), waiting("dkim"), waiting("dmarc")];
  const mx = expected.filter(({ type }) => type === "MX");
  const [spf, dkim, dmarc] = expected.filter(({ type }) => type === "TXT");
  if (!spf || !dkim || !dmarc) throw new Error("the system records have lost one");
  return Promise.all([
    checkMx(asked, mx),
    checkSpf(asked, spf),
    checkText("dkim", asked, dkim, {
      begins: /^v=DKIM1|(?:^|;)\s*p=/i,
      isRight: (text) => keyOf(text) === keyOf(dkim.value),
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
 * resolver allows for one question.
 */
export async function healthOf(
  domain: StoredDomain,
  expected: readonly ParsedRecord[] | undefined,
  resolver: Resolver,
  now: Date,
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
  const checks = [ns, ...mail, sts, tls, listed];
  return { domain: domain.name, status: statusOf(checks), checked_at: now.toISOString(), checks: checks.map(viewOf) };
}

/** The overall status of the checks. Without delegation or MX no mail arrives at all. */
export function statusOf(checks: readonly Check[]): Health["status"] {
  const failed = checks.filter(({ status }) => status === "fail").map(({ name }) => name);
  if (failed.includes("ns") || failed.includes("mx")) return "failing";
  if (failed.length > 0) return "degraded";
  const vital = checks.filter(({ name }) => name === "ns" || name === "mx");
  return vital.some(({ status }) => status === "unknown") ? "unknown" : "healthy";
}

const viewOf = ({ name, status, expected, observed, message, missing }: Check): Health["checks"][number] => ({
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
