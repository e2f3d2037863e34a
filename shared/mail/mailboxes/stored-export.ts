import * as z from "zod";

import { HeldGrant } from "../../auth/permissions.ts";
import { Id } from "../../core/ids.ts";
import { Timestamp } from "../../core/time.ts";
import type { Key } from "../../table/writes.ts";
import { mailboxQuery } from "./list.ts";

/*
 * Access patterns
 *   an export by its id   ACCOUNT#<id> / MAILBOX_EXPORT#<id>
 */
export const exportKey = (accountId: string, id: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `MAILBOX_EXPORT#${id}`,
});

export const MailboxExport = z
  .object({
    id: Id.nullable().meta({ description: "What to ask by how it goes on; null when it is all here." }),
    status: z.enum(["queued", "running", "done"]).meta({ description: "How it stands." }),
    row_count: z.int().min(0).meta({ description: "How many mailboxes are in it so far." }),
    csv: z.string().nullable().meta({ description: "The file itself, when it has 500 mailboxes at most." }),
    download_url: z
      .string()
      .nullable()
      .meta({ description: "Where to download a larger one, for an hour, once it is done." }),
    created_at: Timestamp.meta({ description: "When it was asked for." }),
    finished_at: Timestamp.nullable().meta({ description: "When it was done; null before." }),
    expires_at: Timestamp.nullable().meta({ description: "Until when it is kept; null when it is all here." }),
  })
  .meta({ id: "MailboxExport", description: "Mailboxes as a CSV file (RFC 4180, with a header)." });
export type MailboxExport = z.output<typeof MailboxExport>;

const Filter = z.object(mailboxQuery);

export const StoredExport = MailboxExport.omit({ csv: true, download_url: true }).extend({
  id: z.string(),
  account_id: z.string(),
  requested_by: z.string(),
  filter: Filter,
  /** What whoever asked may export: what they see is what they get. */
  permissions: z.object({ everything: z.boolean(), grants: z.array(HeldGrant) }),
  file_key: z.string().nullable(),
  version: z.int(),
});
export type StoredExport = z.output<typeof StoredExport>;
