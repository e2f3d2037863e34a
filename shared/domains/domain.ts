import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Problem } from "../core/errors.ts";
import { Id, ordinalOf } from "../core/ids.ts";
import { Timestamp } from "../core/time.ts";
import type { Queue } from "../table/due.ts";
import { type List, rowKey } from "../table/ranked-list.ts";
import type { Key } from "../table/writes.ts";

/*
 * Access patterns
 *   domains of an account, oldest first, and one by the ordinal in its id   ACCOUNT#<id> / LIST#domains
 *   domains of a workspace, oldest in it first (references)                 ACCOUNT#<id> / LIST#workspace/<id>/domains
 *   the domain of the account with a name                                   ACCOUNT#<id> / DOMAIN_NAME#<name>
 *   the account that holds a name, among all accounts                       DOMAIN#<name> / HOLDER
 *   the domain being registered under a name, among all accounts            DOMAIN#<name> / BUYER
 */
export const domainsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "domains" });
export const domainsIn = (accountId: string, workspaceId: string): List => ({
  partition: `ACCOUNT#${accountId}`,
  name: `workspace/${workspaceId}/domains`,
});
export const nameKey = (accountId: string, name: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `DOMAIN_NAME#${name}`,
});
export const holderKey = (name: string): Key => ({ PK: `DOMAIN#${name}`, SK: "HOLDER" });
export const buyerKey = (name: string): Key => ({ PK: `DOMAIN#${name}`, SK: "BUYER" });
/** The row key of the domain with this id. An id of another kind gives an ordinal that no domain ever gets. */
export const domainKey = (accountId: string, id: string): Key => rowKey(domainsOf(accountId), ordinalOf(id) ?? 2 ** 40);

export const DomainStatus = z.enum([
  "pending_registration",
  "pending_delegation",
  "active",
  "degraded",
  "failed",
  "suspended",
  "expired",
  "releasing",
]);
export type DomainStatus = z.output<typeof DomainStatus>;

export const DmarcPolicy = z.enum(["none", "quarantine", "reject"]);

export const Warning = z
  .object({
    code: z.enum(["lookalike"]).meta({ description: "What the warning is about." }),
    message: z.string().meta({ description: "A sentence for people." }),
    names: z.array(z.string()).meta({ description: "The names it is about." }),
  })
  .meta({ id: "DomainWarning", description: "Something worth a second look, that forbids nothing." });
export type Warning = z.output<typeof Warning>;

const RegistrationView = z
  .object({
    status: z.enum(["pending", "active", "failed", "expired"]).meta({ description: "How the registration stands." }),
    expires_at: Timestamp.nullable().meta({ description: "Until when it is registered." }),
    locked: z.boolean().meta({ description: "Whether it is locked against transfer." }),
  })
  .meta({ id: "DomainRegistration", description: "The registration of a domain that was purchased here." });

export const Domain = z
  .object({
    id: Id.meta({ description: "The domain's id." }),
    name: z.string().meta({ description: "Its name: A-labels in lower case." }),
    unicode_name: z.string().meta({ description: "Its name for people, with the letters of its language." }),
    workspace_id: Id.meta({ description: "The workspace it is in." }),
    status: DomainStatus.meta({
      description:
        "`pending_registration` → `pending_delegation` → `active` ⇄ `degraded`. `failed` could not be registered, and costs nothing.",
    }),
    status_reason: z
      .string()
      .nullable()
      .meta({ description: "Why it is degraded or failed, or whom its name went to, for people." }),
    deletes_at: Timestamp.nullable().meta({
      description:
        "When a domain that lost its name to another account is deleted, with all it has; until then it can be read, and `domains.add` can get it back. Null for all others.",
    }),
    outbound_routing_ready: z.boolean().meta({ description: "Whether mail from it can be sent." }),
    source: z.enum(["purchased", "connected"]).meta({ description: "Whether it was bought here or elsewhere." }),
    nameservers: z.array(z.string()).meta({ description: "The pair to delegate it to, of this account alone." }),
    registration: RegistrationView.nullable().meta({
      description: "Its registration; null when it was not bought here.",
    }),
    auto_renew: z.boolean().meta({ description: "Whether its registration is renewed when it ends." }),
    redirect_url: z.string().nullable().meta({ description: "Where its website redirects to." }),
    dmarc_policy: DmarcPolicy.meta({ description: "What receivers should do with mail that fails DMARC." }),
    dmarc_report_email: z.string().nullable().meta({ description: "Where receivers send their DMARC reports." }),
    dedicated_ip_id: Id.nullable().meta({ description: "The dedicated IP it sends from; null for the shared ones." }),
    tags: z
      .array(
        z.object({
          id: Id.meta({ description: "The tag's id." }),
          name: z.string().meta({ description: "The tag's name." }),
        }),
      )
      .meta({ description: "Its tags." }),
    warnings: z
      .array(Warning)
      .meta({ description: "What is worth a second look, such as a look-alike of another domain." }),
    verified_at: Timestamp.nullable().meta({ description: "When its delegation was first seen; null before." }),
    created_at: Timestamp.meta({ description: "When it came into the account." }),
    updated_at: Timestamp.meta({ description: "When it last changed." }),
  })
  .meta({ id: "Domain", description: "A domain of an account, for mail." });
export type Domain = z.output<typeof Domain>;

/** The state of a purchase, from the hold on the money to its capture or release. */
const Purchase = z.object({
  batch_id: z.string(),
  /** The amount held, in minor units. */
  price: z.int(),
  hold_id: z.string(),
  stage: z.enum(["held", "asked", "running", "captured", "voided"]),
  /** When the registrar was first asked. Registrations that it reports from before this time belong to others. */
  asked_at: Timestamp.optional(),
  /** When the registrar was asked for the last time, after the earlier requests had no effect. */
  asked_again_at: Timestamp.optional(),
  operation_id: z.string().optional(),
});
export type Purchase = z.output<typeof Purchase>;

export const StoredDomain = Domain.omit({ tags: true, outbound_routing_ready: true, unicode_name: true }).extend({
  account_id: z.string(),
  tag_ids: z.array(z.string()),
  deletes_at: Timestamp.nullable().default(null),
  /** The position of the domain in its workspace's list. */
  workspace_ordinal: z.int(),
  mailbox_count: z.int(),
  record_count: z.int(),
  /**
   * Whether records and mailboxes can be added: false while the domain is released, and after its registration failed.
   */
  is_open: z.boolean(),
  /** When the worker looks at it next; null when there is nothing to do. */
  due_at: Timestamp.nullable(),
  /** How many times in a row the due work failed, or a check found a fault. */
  failures: z.int(),
  purchase: Purchase.optional(),
  version: z.int(),
});
export type StoredDomain = z.output<typeof StoredDomain>;

export const domainKind = defineKind({
  name: "domain",
  verbs: [
    "created",
    "registered",
    "registration_failed",
    "verified",
    "updated",
    "moved",
    "degraded",
    "recovered",
    "taken_over",
    "regained",
    "deleted",
  ],
  view: Domain,
  seenWith: "domain.view",
});

export const noSuchDomain = "There is no such domain in this account that you can see";

/** Whether a domain may send mail. A degraded domain still may; its health reports the fault. */
export const sendsMail = ({ status }: Pick<StoredDomain, "status">): boolean =>
  status === "active" || status === "degraded";

/** A 409 `domain_not_ready`: the domain's status does not allow the operation. `detail` is a sentence for people. */
export const notReady = (status: DomainStatus, detail: string): Problem =>
  new Problem("domain_not_ready", detail, { domain_status: status });

/** Domains with work due at a certain time, keyed by account and domain. */
export const domainQueue: Queue = { name: "DOMAIN_DUE", shards: 64 };

/** Purchases whose payment has arrived, keyed by account and batch. */
export const batchQueue: Queue = { name: "PURCHASE_DUE", shards: 4 };
