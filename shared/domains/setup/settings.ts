import * as z from "zod";

import { change } from "../../changes/kind.ts";
import { InvalidInput, notFound } from "../../core/errors.ts";
import { isSame } from "../../core/fields.ts";
import { Id } from "../../core/ids.ts";
import { textFault } from "../../core/text.ts";
import type { Context, Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import { tagsAmong, tagKey } from "../../tags/tag.ts";
import { DmarcPolicy, type StoredDomain, domainKind, notReady } from "../domain.ts";
import { domainById, aheadOfDomain, expectedDomainId, seenDomain } from "../find.ts";
import { isSpecialUse, readName } from "../name.ts";
import { type RecordEdit, parsedOf, planRecords } from "../records/plan.ts";
import { recordsIn } from "../records/stored-record.ts";
import { dmarcRecord } from "../records/system-records.ts";
import { domainViews } from "../view.ts";
import { getZone } from "../zone.ts";
import { domainDetail } from "./detail.ts";
import { domainUpdate } from "./work.ts";

const longestUrl = 2_048;
const example = "Write a full address such as https://www.example.com/";

/** The characters that RFC 3986 does not allow, and that the URL parser of browsers silently replaces or drops. */
const mended = /[\s\\<>"^`{|}]/u;

/** Explains why the target of a redirect is invalid, in one sentence without its period; undefined if it is valid. */
function fault(given: string): string | undefined {
  const odd = mended.exec(given)?.[0];
  const unseen = textFault(given);
  if (unseen !== undefined) return unseen;
  if (odd !== undefined) return `An address cannot have ${odd.trim() === "" ? "spaces" : odd}`;
  const [, authority = ""] = /^https?:\/\/([^/?#]+)(?:[/?#]|$)/i.exec(given) ?? [];
  if (authority === "" || !URL.canParse(given)) return example;
  if (authority.includes("@")) return "Leave the user name and password out of the address";
  const [, host = ""] = /^(.*?)(?::\d*)?$/.exec(authority) ?? [];
  if (host.startsWith("[")) return "Write a name as the host, not an IP address";
  const read = readName(host);
  if ("fault" in read) return read.fault;
  if (isSpecialUse(read.name)) return `${read.name} is not on the public internet`;
  return new URL(given).hostname.replace(/\.$/, "") === read.name ? undefined : example;
}

/**
 * The schema of a redirect's target, in the form of the browsers' URL Standard: http or https, a public name as its
 * host, no credentials. A text that the parser would change is refused, because other programs would read it
 * differently.
 */
export const RedirectUrl = z
  .string()
  .max(longestUrl, { abort: true })
  .superRefine((given, context) => {
    const message = fault(given);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .overwrite((given) => URL.parse(given)?.href ?? given)
  .refine((href) => href.length <= longestUrl, { error: `The encoded address is longer than ${longestUrl} characters` })
  .meta({ format: "uri" });

const Email = z.email().max(254).toLowerCase();

/** The settings of a domain that customers can change. */
export const DomainSettings = z
  .strictObject({
    auto_renew: z.boolean().optional().meta({
      description:
        "Whether the registration is renewed for a year from 30 days before it ends, paid from the wallet. True is accepted only for a domain that was purchased here.",
    }),
    redirect_url: RedirectUrl.nullable().optional().meta({
      description:
        "The address to which the domain's website redirects: http or https, at most 2,048 characters, with a public domain name as the host. The address must not have credentials, or characters that browsers would change, such as spaces and backslashes. It is stored as browsers write it. Null for no redirect.",
    }),
    dmarc_policy: DmarcPolicy.optional().meta({ description: "What receivers should do with mail that fails DMARC." }),
    dmarc_report_email: Email.nullable().optional().meta({
      description: "The e-mail address to which receivers send their DMARC reports. Null for none.",
    }),
    tag_ids: z
      .array(Id)
      .max(20)
      .optional()
      .meta({ description: "The ids of all the domain's tags, 20 at most. They replace its current tags." }),
  })
  .meta({ id: "DomainUpdate", description: "The changes to a domain's settings." });
type DomainSettings = z.output<typeof DomainSettings>;

const invalidSetting = (loc: (string | number)[], msg: string): InvalidInput =>
  new InvalidInput([{ loc: ["body", ...loc], msg, type: "value_error" }]);

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
  return { ...ahead, keys: [...keys, ...shown, ...given, ...given] };
}

/**
 * Changes settings of a domain and the records that depend on them. `isServed` says whether the nameservers should have
 * these records. Throws 404, 409 `domain_not_ready`, and 422 for a setting that the domain cannot have.
 */
export async function setDomain(
  found: StoredDomain,
  settings: DomainSettings,
  context: Context,
): Promise<{ after: StoredDomain; isServed: boolean }> {
  const { table, commit, now, keyId } = context;
  requireOpen(found);
  if (settings.auto_renew === true && !found.registration) throw invalidSetting(["auto_renew"], notRegisteredHere);
  const answerOf = async (domain: StoredDomain) =>
    keyId === undefined ? {} : { answer: await domainDetail(domain, context) };
  let isServed = false;
  const changed = await commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (!domain) throw notFound();
    requireOpen(domain);
    const { tag_ids, ...rest } = settings;
    if (tag_ids) await requireTags(table, domain.account_id, tag_ids);
    const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
    const set = { ...given, ...(tag_ids ? { tag_ids: [...new Set(tag_ids)] } : {}) };
    const { after, writes } = domainUpdate(domain, { ...set, updated_at: now().toISOString() });
    const [before, shown] = (await domainViews(table, domain.account_id, [domain, after])) as [object, object];
    if (isSame(domain, set)) {
      return { value: domain, ...(await answerOf(domain)), writes: [], changes: [], current: before };
    }
    const edits = await dmarcEdits(table, domain, after);
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

/** The change of the DMARC record, if the settings change it. */
async function dmarcEdits(table: Reader, before: StoredDomain, after: StoredDomain): Promise<RecordEdit[]> {
  const record = dmarcRecord(after);
  if (record.value === dmarcRecord(before).value) return [];
  const { account_id, id } = before;
  const [records, zone] = await Promise.all([
    recordsIn(table, account_id, id, record.name, record.type),
    getZone(table, account_id, id),
  ]);
  const own = records.find(({ is_system_managed }) => is_system_managed);
  if (!own || !zone) return [];
  return [{ zone, updated: [{ before: own, after: { ...parsedOf(own), value: record.value } }] }];
}
