import * as z from "zod";

import { covers, type Permissions } from "../../auth/permissions.ts";
import { Problem } from "../../core/errors.ts";
import { Id } from "../../core/ids.ts";
import { firstStorable } from "../../core/page.ts";
import type { Context, Expected } from "../../http/route.ts";
import { firstMailboxes } from "../../mail/mailboxes/lookup.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { tagKey } from "../../tags/tag.ts";
import { Domain, type StoredDomain } from "../domain.ts";
import { scopesOfDomain, aheadOfDomain, expectedDomainId, seenDomain } from "../find.ts";
import { DnsRecord, recordView, recordsIn, recordsRange } from "../records/stored-record.ts";
import { domainViews } from "../view.ts";
import { getZone, zoneKey } from "../zone.ts";

const shownAtMost = 100;

const MailboxSummary = z
  .object({
    id: Id.meta({ description: "The mailbox's id." }),
    email: z.string().meta({ description: "The mailbox's address." }),
    first_name: z.string().meta({ description: "Given name." }),
    last_name: z.string().meta({ description: "Family name." }),
    active: z
      .boolean()
      .meta({ description: "Whether the mailbox is active. It is false while the mailbox is paused." }),
  })
  .meta({ id: "DomainMailbox", description: "A summary of a mailbox of a domain." });

export const DomainDetail = Domain.extend({
  dns_records: z.array(DnsRecord).meta({
    description: `The domain's first ${shownAtMost} DNS records, by name and type, or fewer if they are large. Empty if you cannot see them.`,
  }),
  dns_record_count: z
    .int()
    .min(0)
    .nullable()
    .meta({ description: "How many DNS records the domain has. Null if you cannot see them." }),
  mailboxes: z
    .array(MailboxSummary)
    .meta({ description: `The domain's first ${shownAtMost} mailboxes. Empty if you cannot see them.` }),
  mailbox_count: z
    .int()
    .min(0)
    .nullable()
    .meta({ description: "How many mailboxes the domain has. Null if you cannot see them." }),
}).meta({ id: "DomainDetail", description: "A domain with its DNS records and mailboxes." });
export type DomainDetail = z.output<typeof DomainDetail>;

/**
 * The items that `domainInPath` and `domainDetail` read, if this process has seen the domain. The mailboxes are not
 * included, because their keys are not known yet.
 */
export function aheadOfDetail(accountId: string, name: string, expected: Expected): Ahead {
  const { keys, ...ahead } = aheadOfDomain(expected, accountId, name);
  const domain = seenDomain(expected, accountId, expectedDomainId(expected.seen, accountId, name));
  if (!domain) return { ...ahead, keys };
  const { id, record_count, tag_ids } = domain;
  const hasRecords = record_count > 0 && covers(expected.permissions, "dns.view", scopesOfDomain(domain));
  const tags = tag_ids.map((tag) => tagKey(accountId, tag));
  return {
    ...ahead,
    keys: [...keys, ...tags, ...(hasRecords ? [zoneKey(accountId, id)] : [])],
    ranges: hasRecords ? [recordsRange(accountId, id)] : [],
  };
}

/** Whether a principal may see all mailboxes of a domain, and so their number. */
export const maySeeMailboxes = (domain: StoredDomain, permissions: Permissions): boolean =>
  covers(permissions, "mailbox.view", scopesOfDomain(domain));

/**
 * The API view of a domain, with the first 100 records and mailboxes if the principal may see them. A list whose count
 * is 0 is not read.
 */
export async function domainDetail(
  domain: StoredDomain,
  { table, permissions }: Pick<Context, "table" | "permissions">,
): Promise<DomainDetail> {
  const { account_id, id, record_count, mailbox_count } = domain;
  const scopes = scopesOfDomain(domain);
  const [seesRecords, seesMailboxes] = [covers(permissions, "dns.view", scopes), maySeeMailboxes(domain, permissions)];
  const [hasRecords, hasMailboxes] = [seesRecords && record_count > 0, seesMailboxes && mailbox_count > 0];
  const [[view], records, zone, mailboxes] = await Promise.all([
    domainViews(table, account_id, [domain]),
    hasRecords ? recordsIn(table, account_id, id) : [],
    hasRecords ? getZone(table, account_id, id) : undefined,
    hasMailboxes ? firstMailboxes(table, account_id, id, shownAtMost) : [],
  ]);
  return DomainDetail.parse({
    ...view,
    dns_records: firstStorable(
      records.slice(0, shownAtMost).map((record) => recordView(record, zone)),
      shownAtMost,
    ),
    dns_record_count: seesRecords ? record_count : null,
    mailboxes: mailboxes.map((mailbox) => ({
      id: mailbox.id,
      email: `${mailbox.local_part}@${domain.name}`,
      first_name: mailbox.first_name,
      last_name: mailbox.last_name,
      active: mailbox.status === "active",
    })),
    mailbox_count: seesMailboxes ? mailbox_count : null,
  });
}

/**
 * Waits for `changing`, a change of a domain. If the change throws 409 `record_conflict`, and the caller may not see
 * the DNS records of the domain, throws a 409 that does not name the records instead.
 */
export async function hidingRecords<T>(
  domain: StoredDomain,
  { permissions }: Pick<Context, "permissions">,
  changing: Promise<T>,
): Promise<T> {
  try {
    return await changing;
  } catch (error) {
    const isConflict = error instanceof Problem && error.code === "record_conflict";
    if (!isConflict || covers(permissions, "dns.view", scopesOfDomain(domain))) throw error;
    const detail =
      "DNS records that you cannot see are in the way. Ask somebody who manages the records of the domain.";
    throw new Problem("record_conflict", detail);
  }
}
