import * as z from "zod";

import { DnsRecord, recordsIn } from "../dns-records/stored-record.ts";
import { recordView } from "../dns-records/view.ts";
import { Id } from "../ids.ts";
import { firstMailboxes } from "../mailboxes/first.ts";
import type { Reader } from "../table/table.ts";
import { getZone } from "../zones/zone.ts";
import { Domain, type StoredDomain } from "./domain.ts";
import { domainViews } from "./view.ts";

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
  dns_records: z.array(DnsRecord).meta({ description: `Its DNS records by name and type, the first ${shown}.` }),
  dns_record_count: z.int().min(0).meta({ description: "How many DNS records it has." }),
  mailboxes: z.array(MailboxSummary).meta({ description: `Its mailboxes, the first ${shown}.` }),
  mailbox_count: z.int().min(0).meta({ description: "How many mailboxes it has." }),
}).meta({ id: "DomainDetail", description: "A domain with what is in it." });
export type DomainDetail = z.output<typeof DomainDetail>;

/** A domain with its records and mailboxes; what it has none of is not read. */
export async function domainDetail(table: Reader, domain: StoredDomain): Promise<DomainDetail> {
  const { account_id, id, record_count, mailbox_count } = domain;
  const [[view], records, zone, mailboxes] = await Promise.all([
    domainViews(table, account_id, [domain]),
    record_count === 0 ? [] : recordsIn(table, account_id, id),
    record_count === 0 ? undefined : getZone(table, account_id, id),
    mailbox_count === 0 ? [] : firstMailboxes(table, account_id, id, shown),
  ]);
  return DomainDetail.parse({
    ...view,
    dns_records: records.slice(0, shown).map((record) => recordView(record, zone)),
    dns_record_count: record_count,
    mailboxes: mailboxes.map((mailbox) => ({
      id: mailbox.id,
      email: `${mailbox.local_part}@${domain.name}`,
      first_name: mailbox.first_name,
      last_name: mailbox.last_name,
      active: mailbox.status === "active",
    })),
    mailbox_count,
  });
}
