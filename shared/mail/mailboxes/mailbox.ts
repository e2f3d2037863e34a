import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Id, ordinalOf } from "../../core/ids.ts";
import { line } from "../../core/text.ts";
import { Timestamp } from "../../core/time.ts";
import { rowKey, type List } from "../../table/ranked-list.ts";
import type { Key } from "../../table/writes.ts";

/*
 * An address is stored under the id of its domain, not under the domain's name. So if another account gets the name
 * later, none of the former addresses is found.
 *
 * Access patterns
 *   mailboxes of an account by age, and one by the ordinal in its id   ACCOUNT#<id> / LIST#mailboxes
 *   mailboxes of a domain, oldest first (references)                   ACCOUNT#<id> / LIST#domain/<id>/mailboxes
 *   the mailbox that has an address of a domain                        ACCOUNT#<id> / ADDRESS#<domain id>#<local part>
 */
export const mailboxesOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "mailboxes" });
export const mailboxesIn = (accountId: string, domainId: string): List => ({
  partition: `ACCOUNT#${accountId}`,
  name: `domain/${domainId}/mailboxes`,
});
export const addressKey = (accountId: string, domainId: string, local: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `ADDRESS#${domainId}#${local}`,
});
/** The row key of the mailbox with this id. An id in another form gets an ordinal that no mailbox ever has. */
export const mailboxKey = (accountId: string, id: string): Key =>
  rowKey(mailboxesOf(accountId), ordinalOf(id) ?? 2 ** 40);

/** The local part under which a domain's catch-all is stored. */
export const anyLocal = "*";

/** The mailbox that has an address, and the kind of the address. */
export const StoredAddress = z.object({
  kind: z.enum(["mailbox", "alias", "catch_all"]),
  mailbox_id: z.string(),
});
export type StoredAddress = z.output<typeof StoredAddress>;

const MailboxStatus = z.enum(["provisioning", "active", "paused", "suspended", "deleting"]);

export const personName = (description: string) => line({ most: 100, description });

export const Alias = z
  .object({
    alias: z.string().meta({ description: "The whole address; `*@` with the domain for a catch-all." }),
    is_catch_all: z.boolean().meta({
      description:
        "Whether the alias is the catch-all, which gets the mail for addresses of the domain that no mailbox and no forwarding rule has.",
    }),
  })
  .meta({ id: "MailboxAlias", description: "Another address of a mailbox." });

/** The members of a mailbox that do not depend on the workspace of its domain. */
const MailboxCore = z.object({
  id: Id.meta({ description: "The mailbox's id." }),
  domain_id: Id.meta({ description: "The id of the mailbox's domain." }),
  domain_name: z.string().meta({ description: "The name of the mailbox's domain." }),
  local_part: z.string().meta({ description: "The part of the mailbox's address before the @." }),
  primary_email: z.string().meta({ description: "The mailbox's address." }),
  first_name: z.string().meta({ description: "The given name of the mailbox's user." }),
  last_name: z.string().meta({ description: "The family name of the mailbox's user." }),
  quota: z
    .object({
      allowed: z.int().min(0).meta({ description: "The space the mailbox may use, in bytes." }),
      used: z
        .int()
        .min(0)
        .meta({ description: "The space the mailbox uses, in bytes, as the mail servers reported it last." }),
    })
    .meta({ description: "The mailbox's quota." }),
  aliases: z.array(Alias).meta({ description: "The mailbox's other addresses." }),
  status: MailboxStatus.meta({
    description:
      "An `active` mailbox can log in, send and receive. A `paused` mailbox allows no login and no sending, and still receives mail. No mailbox has another status at present.",
  }),
  last_login_at: Timestamp.nullable().meta({
    description: "When somebody last logged in to the mailbox, accurate to a few minutes; null before the first login.",
  }),
  created_at: Timestamp.meta({ description: "When the mailbox was created." }),
  updated_at: Timestamp.meta({ description: "When the mailbox last changed." }),
});

export const Mailbox = MailboxCore.extend({
  workspace_id: Id.meta({ description: "The id of the workspace that the mailbox's domain is in." }),
  workspace_name: z.string().meta({ description: "The name of that workspace." }),
}).meta({
  id: "Mailbox",
  description: "A mailbox. Only `mailboxes.reveal_credentials` shows its password.",
});
export type Mailbox = z.output<typeof Mailbox>;

/** The login of a mailbox. The sealed copy of the password exists until the password is revealed. */
const Login = z.object({ hash: z.string(), tag: z.string(), sealed: z.string().optional() });
export type Login = z.output<typeof Login>;

/**
 * A stored mailbox, without the members of its domain. The row is short, because a write of up to 1 KB costs half as
 * much as a write of up to 2 KB.
 */
export const StoredMailbox = z.object({
  id: z.string(),
  domain_id: z.string(),
  /** The position of the mailbox in its domain's list. */
  place: z.int(),
  local_part: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  quota: z.int(),
  used: z.int(),
  /** The number of mails in the mailbox. Absent until the mail servers report this number. */
  messages: z.int().optional(),
  /**
   * When the mail servers measured `used` and `messages`. Absent before the first measurement, and if the stored time
   * is no `Timestamp`.
   */
  used_at: Timestamp.optional().catch(undefined),
  /** The step of `quotaSteps` that was reached at `used_at`, in per cent. 0 or absent below the first step. */
  quota_step: z.int().optional(),
  /** A stored time that is no `Timestamp`, such as a time after the year 9999, counts as null. */
  last_login_at: MailboxCore.shape.last_login_at.default(null).catch(null),
  /** The local parts of the mailbox's other addresses. */
  aliases: z.array(z.string()),
  status: MailboxStatus,
  login: Login,
  created_at: z.string(),
  updated_at: z.string(),
  /**
   * The id of the request with an `Idempotency-Key` that created the mailbox. By this id, a repeat of the request finds
   * the mailbox.
   */
  made_by: z.string().optional(),
  version: z.int(),
});
export type StoredMailbox = z.output<typeof StoredMailbox>;

export const mailboxKind = defineKind({
  name: "mailbox",
  verbs: [
    "created",
    "updated",
    "paused",
    "resumed",
    "credentials_revealed",
    "password_rotated",
    "deleted",
    "restored",
    "purged",
    "quota_reached",
  ],
  view: MailboxCore,
  // The entity tag leaves out the members that mail servers report. These members change all the time, and callers
  // cannot change them.
  own: MailboxCore.omit({ last_login_at: true }).extend({ quota: MailboxCore.shape.quota.omit({ used: true }) }),
  seenWith: "mailbox.view",
});

/** The quota of a mailbox for which none is given: ten gibibytes. */
export const defaultQuotaBytes = 10 * 2 ** 30;
/** The most aliases of a mailbox. One transaction, of 100 writes at most, deletes a mailbox with all its aliases. */
export const aliasLimit = 30;
