import * as z from "zod";

import { covers, type Permissions } from "../../auth/permissions.ts";
import { Id } from "../../core/ids.ts";
import type { Context } from "../../http/route.ts";
import { firstMailboxes } from "../../mail/mailboxes/lookup.ts";
import { Domain, type StoredDomain } from "../domain.ts";
import { scopesOfDomain } from "../find.ts";
import { DnsRecord, recordView, recordsIn } from "../records/stored-record.ts";
import { domainViews } from "../view.ts";
import { getZone } from "../zone.ts";

const shown = 100;

const MailboxSummary = z
  .object({
    id: Id.meta({ description: "The mailbox's id." }),
    email: z.string().meta({ description: "Its address." }),
    first_name: z.string().meta({ description: "Given name." }),
    last_name: z.string().meta({ description: "Family name." }),
    active: z.boolean().meta({ description: "Whether it can be logged in to." }),
  })
  .meta({ id: "DomainMailbox", description: "A mailbox of a domain, in short." });

export const DomainDetail = Domain.extend({
  dns_records: z
    .array(DnsRecord)
    .meta({ description: `Its DNS records by name and type, the first ${shown}; none for who may not see them.` }),
  dns_record_count: z
    .int()
    .min(0)
    .nullable()
    .meta({ description: "How many DNS records it has; null for who may not see them." }),
  mailboxes: z
    .array(MailboxSummary)
    .meta({ description: `Its mailboxes, the first ${shown}; none for who may not see them.` }),
  mailbox_count: z
    .int()
    .min(0)
    .nullable()
    .meta({ description: "How many mailboxes it has; null for who may not see them." }),
}).meta({ id: "DomainDetail", description: "A domain with what is in it." });
export type DomainDetail = z.output<typeof DomainDetail>;

/** Whether a principal may see all mailboxes of a domain, and so their number. */
export const maySeeMailboxes = (domain: StoredDomain, permissions: Permissions): boolean =>
  covers(permissions, "mailbox.view", scopesOfDomain(domain));

/**
 * The API view of a domain with the records and mailboxes that the reader may see. Empty lists are not read from the
 * table.
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
    hasMailboxes ? firstMailboxes(table, account_id, id, shown) : [],
  ]);
  return DomainDetail.parse({
    ...view,
    dns_records: records.slice(0, shown).map((record) => recordView(record, zone)),
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
