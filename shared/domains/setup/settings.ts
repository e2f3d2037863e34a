import * as z from "zod";

import { change } from "../../changes/kind.ts";
import { invalidAt, InvalidInput, notFound, Problem } from "../../core/errors.ts";
import { requireFeature } from "../../core/features.ts";
import { isSame } from "../../core/fields.ts";
import { Id } from "../../core/ids.ts";
import { platform } from "../../core/platform.ts";
import { readable, type Reading } from "../../core/text.ts";
import { later, minuteMs } from "../../core/time.ts";
import { sendersOf } from "../../dedicated-ips/spf.ts";
import type { Resolver } from "../../dns/answer.ts";
import type { Context, Expected } from "../../http/route.ts";
import { readTarget } from "../../mail/forwarding/target.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import { tagsAmong, tagKey } from "../../tags/tag.ts";
import {
  DmarcPolicy,
  DnsMode,
  type StoredDomain,
  domainKind,
  isRenewing,
  isTransferring,
  notReady,
  sendsMail,
} from "../domain.ts";
import { domainById, aheadOfDomain, expectedDomainId, seenDomain } from "../find.ts";
import { MtaStsMode } from "../records/mta-sts.ts";
import { readHostName } from "../records/names.ts";
import { planRecords } from "../records/plan.ts";
import { countLookups } from "../records/spf-lookups.ts";
import { spfFault } from "../records/spf.ts";
import { spfRecord } from "../records/system-records.ts";
import { domainViews } from "../view.ts";
import { requireZonePossible } from "../zone-neighbours.ts";
import { getZone } from "../zone.ts";
import { domainDetail } from "./detail.ts";
import { dueBy } from "./expiry.ts";
import { protectionMembers } from "./protection.ts";
import { RedirectUrl, requireNoLoop } from "./redirect.ts";
import { settingEdits } from "./setting-records.ts";
import { type ChangedMembers, domainUpdate } from "./work.ts";

/**
 * Reads an address for reports as a forwarding target is read. The address is part of a `mailto` URI in a record. So it
 * cannot have the characters `,`, `;` and `!`, which separate URIs and sizes (RFC 7489 §6.2, RFC 8460 §3), or
 * characters that a URI needs escaped (RFC 6068 §2).
 */
function readReportEmail(given: string): Reading {
  const reading = readTarget(given);
  if ("fault" in reading || /^[a-z0-9$'*+_~.-]+@/.test(reading.value)) return reading;
  return { fault: "The part before the @ can have only the letters a to z, digits and the characters $ ' * + - . _ ~" };
}

/** The schema of an address for reports. Its output is in lower case, with the domain in A-labels. */
const ReportEmail = readable(z.string().max(1_000), readReportEmail);

const reportEmailForm =
  "At most 254 characters, with a public domain name. The part before the @ can have only the letters a to z, digits and the characters `$ ' * + - . _ ~`. The address is stored in lower case, with the domain in Punycode.";

/**
 * The schema of a name whose SPF record is included: a full name, which may have underscores, in lower-case A-labels.
 */
const SpfInclude = readable(z.string(), (given) => readHostName(given, { zone: "example.com", underscores: true }));

/** The settings of a domain that customers can change. */
export const DomainSettings = z
  .strictObject({
    auto_renew: z.boolean().optional().meta({
      description:
        "Whether the product renews the registration by itself, for a year at a time. It begins to try 30 days before the registration ends. The wallet pays. True is accepted only for a domain that was purchased here, or whose name is being transferred here.",
    }),
    dns_mode: DnsMode.optional().meta({
      description:
        "`hosted` moves the domain's DNS to our nameservers. First set `hosted`, then import the present records with `dns_records.import`, and then set `nameservers` at the registrar. If the name is registered here, the product sets them itself, a minute after `hosted` at the earliest, so import the records at once. Until the nameservers are set, the domain is `pending_delegation`. Records that are not in the domain here stop after the change of the nameservers. `external` keeps the DNS elsewhere. Publish the records of `domains.dns_setup.get` there before you change the nameservers. Our nameservers serve the records until three days after that change. The records that are stored here stay in both cases.",
    }),
    locked: z.boolean().optional().meta({
      description:
        "Whether the name is locked against transfer to another registrar. Only for a domain that was purchased here.",
    }),
    privacy: z.boolean().optional().meta({
      description: "Whether the registry's public data hide the contact. Only for a domain that was purchased here.",
    }),
    redirect_url: RedirectUrl.nullable().optional().meta({
      description:
        "The address to which the domain and its `www` redirect: http or https, at most 2,048 characters, with a public domain name as the host. All paths lead to this address. The address must not have credentials, or characters that browsers would change, such as spaces and backslashes. The address is stored as browsers write it. It must not lead back to the domain. Null for no redirect.",
    }),
    dmarc_policy: DmarcPolicy.optional().meta({
      description: "The action that receivers should take on mail that fails DMARC.",
    }),
    dmarc_report_email: ReportEmail.nullable()
      .optional()
      .meta({
        description: `The e-mail address to which receivers send their DMARC reports. If the address is in a domain of another organisation, that domain needs the TXT record \`<the domain>._report._dmarc\` with the value \`v=DMARC1\` (RFC 7489 §7.1), or no reports come. ${reportEmailForm} Null for none.`,
      }),
    mta_sts_mode: MtaStsMode.optional().meta({
      description:
        "The mode of the domain's MTA-STS policy (RFC 8461): `testing` only asks for reports, `enforce` lets senders refuse a connection that is not safe, `none` ends the policy.",
    }),
    tls_report_email: ReportEmail.nullable()
      .optional()
      .meta({
        description: `The e-mail address to which senders report on their TLS connections (RFC 8460), usually together with MTA-STS. ${reportEmailForm} Null for none.`,
      }),
    spf_includes: z.array(SpfInclude).max(10).optional().meta({
      description:
        "The names of all SPF records of other senders that the domain's SPF record includes, 10 at most, such as `_spf.example.com`. They replace the present names. Together with our SPF record, they must not need more than 10 DNS look-ups (RFC 7208). The product counts these look-ups. A call with a new name also counts as a request of the class `outbound`.",
    }),
    dkim_rotation_months: z.int().min(1).max(60).nullable().optional().meta({
      description:
        "After how many months the product rotates the DKIM key by itself, as `domains.dkim.rotate` does: 1 to 60. Null for never.",
    }),
    tag_ids: z
      .array(Id)
      .max(20)
      .optional()
      .meta({ description: "The ids of all the domain's tags, 20 at most. They replace its current tags." }),
  })
  .meta({ id: "DomainUpdate", description: "The changes to a domain's settings." });
type DomainSettings = z.output<typeof DomainSettings>;

const notRegisteredHere = "The domain was not purchased here, so it cannot be renewed here";

/** The items of the domain and its tags that `domainInPath` and `setDomain` read. */
export function aheadOfSettings(
  { account_id, domain: name }: { account_id: string; domain: string },
  { tag_ids = [] }: DomainSettings,
  expected: Expected,
): Ahead {
  const { keys, ...ahead } = aheadOfDomain(expected, account_id, name);
  const before = seenDomain(expected, account_id, expectedDomainId(expected.seen, account_id, name));
  const shown = (before?.tag_ids ?? []).map((id) => tagKey(account_id, id));
  const given = tag_ids.map((id) => tagKey(account_id, id));
  // The given tags are read twice: when they are checked, and for the view of the domain.
  return { ...ahead, keys: [...keys, ...shown, ...given, ...given] };
}

/** Throws 422 if `auto_renew` is turned on for a domain that is neither registered here nor being transferred to us. */
function requireRenewable(domain: StoredDomain, { auto_renew }: DomainSettings): void {
  if (auto_renew !== true || domain.registration || isTransferring(domain)) return;
  throw invalidAt(["body", "auto_renew"], notRegisteredHere);
}

/**
 * Changes settings of a domain, and the records that depend on these settings. `isServed` says whether the nameservers
 * should have these records. Throws:
 * - 404 if the domain was deleted meanwhile;
 * - 422 for a setting that the domain cannot have;
 * - 429 if `spf_includes` has a new name, and the caller's limit of the class `outbound` is used up;
 * - 409 `domain_not_ready` if the status of the domain does not allow the change;
 * - 409 `redirects_unavailable` if a setting needs a web server, and the deployment has none;
 * - 409 `dns_unavailable` for the mode `hosted`, if the deployment hosts no zones;
 * - 409 `zone_conflict` for the mode `hosted`, if the nameservers hold a zone above or below the name;
 * - 409 `record_conflict` if the customer has records in the places that the settings need;
 * - 503 if an SPF record to include cannot be read, or if the domain's former zone is still being removed.
 */
export async function setDomain(
  found: StoredDomain,
  settings: DomainSettings,
  context: Context,
  resolver: Resolver,
): Promise<{ after: StoredDomain; isServed: boolean }> {
  const { table, commit, now, keyId } = context;
  requireOpen(found);
  requireRenewable(found, settings);
  requireWeb(found, settings);
  await Promise.all([
    requireNoLoop(table, found, settings.redirect_url ?? null),
    requireCountableSpf(found, settings.spf_includes ?? [], context, resolver),
  ]);
  // The answer to store for the idempotency key, if the request has one.
  const answerOf = async (domain: StoredDomain) =>
    keyId === undefined ? {} : { answer: await domainDetail(domain, context) };
  let isServed = false;
  const changed = await commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (!domain) throw notFound();
    requireOpen(domain);
    requireRenewable(domain, settings);
    if (settings.tag_ids) await requireTags(table, domain.account_id, settings.tag_ids);
    const set = changedMembers(domain, settings, now());
    const { edits, growth } = await settingEdits(table, domain, { ...domain, ...set });
    const record_count = domain.record_count + growth;
    const members = { ...set, ...(await modeChange(domain, settings.dns_mode, context)) };
    const { after, writes } = domainUpdate(domain, { ...members, record_count, updated_at: now().toISOString() });
    const [before, shown] = (await domainViews(table, domain.account_id, [domain, after])) as [object, object];
    if (isSame(domain, members)) {
      return { value: domain, ...(await answerOf(domain)), writes: [], changes: [], current: before };
    }
    isServed = edits.some(({ zone }) => zone.wanted);
    const { sole, changes } = await planRecords(table, domain.account_id, edits, now());
    return {
      value: after,
      ...(await answerOf(after)),
      writes,
      sole,
      changes: [change(domainKind, "updated", domain.id, { before, after: shown }), ...changes],
    };
  });
  return { after: changed, isServed };
}

/** The members of a domain that the settings change. */
function changedMembers(domain: StoredDomain, settings: DomainSettings, now: Date): ChangedMembers {
  const { tag_ids, spf_includes, mta_sts_mode, locked, privacy, dns_mode: _, ...rest } = settings;
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    ...(tag_ids ? { tag_ids: [...new Set(tag_ids)] } : {}),
    ...(spf_includes ? { spf_includes: [...new Set(spf_includes)] } : {}),
    ...(isPolicyChange(domain, mta_sts_mode) ? { mta_sts_mode } : {}),
    ...protectionMembers(domain, { locked, privacy }, now),
  };
}

/** Whether a mode differs from the mode of the domain's policy. A domain without a policy has the mode `none`. */
const isPolicyChange = (domain: StoredDomain, mode: MtaStsMode | undefined): mode is MtaStsMode =>
  mode !== undefined && mode !== (domain.mta_sts_mode ?? "none");

/**
 * The members of a domain that change with its DNS mode; none if the domain has this mode already. The domain keeps its
 * stored records, and its mail goes on.
 * - To `external`: our nameservers serve the zone until the name is delegated elsewhere.
 * - To `hosted`: an active or degraded domain waits for its delegation, unless the name is still delegated to us.
 *
 * Throws 503 `busy` while the former zone of the domain is being removed. Throws 409 `dns_unavailable` for the mode
 * `hosted` if the deployment hosts no zones, and 409 `zone_conflict` if the nameservers hold a zone above or below the
 * name.
 */
async function modeChange(
  domain: StoredDomain,
  mode: DnsMode | undefined,
  context: Pick<Context, "table" | "permissions" | "now">,
): Promise<ChangedMembers> {
  if (mode === undefined || mode === domain.dns_mode) return {};
  if (mode === "hosted") requireFeature("dns");
  const now = context.now();
  const soon = isRenewing(domain) ? domain.due_at : dueBy(domain, later(now, minuteMs), now);
  const zone = await getZone(context.table, domain.account_id, domain.id);
  if (domain.handover !== null && zone?.wanted === false) {
    throw new Problem("busy", `The zone of ${domain.name} is being removed. Try again in a minute.`, {
      retry_after: 60,
    });
  }
  if (mode === "hosted" && !zone?.wanted) await requireZonePossible(domain.name, domain.account_id, context);
  const members = { dns_mode: mode, sending_ready: sendsMail(domain), failures: 0, due_at: soon };
  if (mode === "hosted") {
    const isDelegated = domain.handover !== null && domain.handover.gone_at === null;
    const waits = isActive(domain) && !isDelegated;
    const waiting = { status: "pending_delegation" as const, status_reason: null, broken_records: [] };
    return { ...members, handover: null, ...(waits ? waiting : {}) };
  }
  return {
    ...members,
    handover: zone?.wanted ? { gone_at: null } : null,
    // Before this change, our nameservers served these records of an active domain, so they were right. A record that
    // is wrong after the change is therefore a fault (`isFault`).
    seen_right: isActive(domain) ? ["mx", "spf", "dkim"] : [],
  };
}

const isActive = ({ status }: StoredDomain): boolean => status === "active" || status === "degraded";

/** Throws 409 `redirects_unavailable` for a setting that needs a web server, if the deployment has none. */
function requireWeb(domain: StoredDomain, { redirect_url, mta_sts_mode }: DomainSettings): void {
  const { webHost, webAddresses } = platform();
  const isRedirect = redirect_url !== undefined && redirect_url !== null && redirect_url !== domain.redirect_url;
  if (isRedirect && (webHost === undefined || webAddresses.length === 0)) {
    throw new Problem(
      "redirects_unavailable",
      "No domain can redirect here, because the deployment has no web address.",
    );
  }
  const needsPolicy = mta_sts_mode !== "none" && isPolicyChange(domain, mta_sts_mode);
  if (!needsPolicy || webHost !== undefined) return;
  const detail = "No domain can have MTA-STS here, because the deployment has no web host that could serve the policy.";
  throw new Problem("redirects_unavailable", detail);
}

function requireOpen({ name, status, is_open }: StoredDomain): void {
  if (is_open) return;
  throw notReady(status, `${name} is ${status}. Its settings cannot be changed.`);
}

async function requireTags(table: Reader, accountId: string, ids: readonly string[]): Promise<void> {
  const known = await tagsAmong(table, accountId, ids);
  const errors = ids.flatMap((id, index) =>
    known.has(id)
      ? []
      : [{ loc: ["body", "tag_ids", index], msg: "There is no such tag in this account", type: "not_found" }],
  );
  if (errors.length > 0) throw new InvalidInput(errors);
}

/**
 * Requires that receivers accept the SPF record of a domain with these includes. Checks nothing if there is no new
 * include. A check asks nameservers that the caller names, so it counts as a request of the class `outbound`. Throws:
 * - 422 at the include that makes receivers reject the record;
 * - 429 if the limit of this class is used up;
 * - 503 if the DNS does not answer.
 */
async function requireCountableSpf(
  domain: StoredDomain,
  includes: readonly string[],
  { table, chargeClass }: Context,
  resolver: Resolver,
): Promise<void> {
  if (includes.every((name) => domain.spf_includes.includes(name))) return;
  await chargeClass("outbound");
  const { value } = spfRecord(await sendersOf(table, domain), includes);
  const fault = spfFault(value);
  // Each include is valid alone, and the record as a whole is not. So the error names the last include.
  if (fault !== undefined) throw invalidInclude(includes.length - 1, `${fault}.`);
  const counted = await countLookups({ domain: domain.name, text: value, own: platform().spfInclude }, resolver);
  if ("fault" in counted) {
    const { term, message } = counted.fault;
    throw invalidInclude(
      includes.findIndex((name) => term === `include:${name}`),
      message,
    );
  }
  if ("unknown" in counted) {
    const detail = `An SPF record of spf_includes cannot be counted. ${counted.unknown}.`;
    throw new Problem("upstream_unavailable", detail, { retry_after: 5 });
  }
}

const invalidInclude = (index: number, msg: string): InvalidInput =>
  invalidAt(["body", "spf_includes", Math.max(index, 0)], msg);
