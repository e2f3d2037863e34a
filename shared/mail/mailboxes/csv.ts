import { stringify } from "csv-stringify/sync";

import type { Mailbox } from "./mailbox.ts";

const columns = [
  "id",
  "email",
  "local_part",
  "domain",
  "workspace",
  "first_name",
  "last_name",
  "status",
  "aliases",
  "quota_allowed",
  "quota_used",
  "created_at",
  "updated_at",
];

const rowOf = (mailbox: Mailbox): string[] => [
  mailbox.id,
  mailbox.primary_email,
  mailbox.local_part,
  mailbox.domain_name,
  mailbox.workspace_name,
  mailbox.first_name,
  mailbox.last_name,
  mailbox.status,
  mailbox.aliases.map(({ alias }) => alias).join(" "),
  String(mailbox.quota.allowed),
  String(mailbox.quota.used),
  mailbox.created_at,
  mailbox.updated_at,
];

/** RFC 4180; a cell that a spreadsheet would take for a formula begins with an apostrophe. */
const options = { record_delimiter: "\r\n", escape_formulas: true } as const;

export const csvHeader = (): string => stringify([columns], options);

/** Mailboxes as lines of a CSV file. */
export const csvLines = (mailboxes: readonly Mailbox[]): string => stringify(mailboxes.map(rowOf), options);
