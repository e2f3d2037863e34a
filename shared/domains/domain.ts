import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Problem } from "../core/errors.ts";
import { Id, ordinalOf } from "../core/ids.ts";
import { Currency, MoneyText } from "../core/money.ts";
import { Timestamp } from "../core/time.ts";
import type { Registration } from "../providers/registrar/registrar.ts";
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
export const domainNameKey = (accountId: string, name: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `DOMAIN_NAME#${name}`,
});
export const holderKey = (name: string): Key => ({ PK: `DOMAIN#${name}`, SK: "HOLDER" });
export const buyerKey = (name: string): Key => ({ PK: `DOMAIN#${name}`, SK: "BUYER" });
/** The row key of the domain with this id. An id in another form gets an ordinal that no domain ever has. */
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
    code: z.enum(["lookalike"]).meta({ description: "The kind of warning." }),
    message: z.string().meta({ description: "A sentence for people." }),
    names: z.array(z.string()).meta({ description: "The names that the warning is about." }),
  })
  .meta({ id: "DomainWarning", description: "A warning about a name. It does not prevent anything." });
export type Warning = z.output<typeof Warning>;

const RegistrationView = z
  .object({
    status: z.enum(["pending", "active", "grace", "redemption", "failed", "expired"]).meta({
      description:
        "`pending` → `active` → `grace` → `redemption` → `expired`. In `grace` the name still works. In `redemption` it does not, and a renewal also pays for its restoration. An `expired` name is not registered here any more.",
    }),
    registrar_status: z.array(z.string()).meta({
      description:
        "The registry's statuses of the name (EPP, RFC 5731 and RFC 3915), such as `clientTransferProhibited`.",
    }),
    expires_at: Timestamp.nullable().meta({ description: "When the registration ends." }),
    grace_ends_at: Timestamp.nullable().meta({ description: "When the name stops working if it is not renewed." }),
    redemption_ends_at: Timestamp.nullable().meta({ description: "When the name is lost if it is not renewed." }),
    locked: z.boolean().meta({ description: "Whether the name is locked against transfer." }),
    privacy: z.boolean().meta({ description: "Whether the registry's public data hide the contact." }),
  })
  .meta({ id: "DomainRegistration", description: "The registration of a domain that was purchased here." });

/** A stored registration. Earlier versions stored its status, end and lock only. */
const StoredRegistration = RegistrationView.extend({
  registrar_status: RegistrationView.shape.registrar_status.default([]),
  grace_ends_at: RegistrationView.shape.grace_ends_at.default(null),
  redemption_ends_at: RegistrationView.shape.redemption_ends_at.default(null),
  privacy: RegistrationView.shape.privacy.default(true),
});
export type StoredRegistration = z.output<typeof StoredRegistration>;

/** The registration of a name that is not registered yet, or could not be registered. */
export const unregistered = (status: "pending" | "failed"): StoredRegistration => ({
  status,
  registrar_status: [],
  expires_at: null,
  grace_ends_at: null,
  redemption_ends_at: null,
  locked: false,
  privacy: true,
});

const registrationStatuses = { registered: "active", grace: "grace", redemption: "redemption" } as const;

/** The registration as the registrar shows it. */
export const registrationOf = (found: Registration): StoredRegistration => ({
  status: registrationStatuses[found.phase],
  registrar_status: [...found.statuses],
  expires_at: new Date(found.expiresAt).toISOString(),
  grace_ends_at: new Date(found.graceEndsAt).toISOString(),
  redemption_ends_at: new Date(found.redemptionEndsAt).toISOString(),
  locked: found.statuses.includes("clientTransferProhibited"),
  privacy: true,
});

const RenewalView = z
  .object({
    id: Id.meta({ description: "The renewal's id." }),
    status: z.enum(["running", "succeeded", "failed"]).meta({
      description: "The price of a `running` renewal is held. A `failed` renewal costs nothing.",
    }),
    reason: z.string().nullable().meta({ description: "Why the renewal failed, for people." }),
    years: z.int().meta({ description: "How many years the renewal adds." }),
    price: MoneyText.meta({ description: "The price of all these years." }),
    restore_fee: MoneyText.meta({ description: "The price of the restoration of a name in redemption; else 0.00." }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
    by: z.enum(["request", "auto"]).meta({ description: "`auto` if the product renewed the name by itself." }),
    started_at: Timestamp.meta({ description: "When the renewal began." }),
  })
  .meta({ id: "DomainRenewal", description: "A renewal of a domain's registration." });

export const Domain = z
  .object({
    id: Id.meta({ description: "The domain's id." }),
    name: z.string().meta({ description: "The domain's name, as A-labels in lower case." }),
    unicode_name: z.string().meta({ description: "The domain's name for people, with the letters of its language." }),
    workspace_id: Id.meta({ description: "The domain's workspace." }),
    status: DomainStatus.meta({
      description:
        "`pending_registration` → `pending_delegation` → `active` ⇄ `degraded`. A `failed` domain could not be registered, and costs nothing. The registration of an `expired` domain has ended, and its grace too. A `releasing` domain is being deleted, or has lost its name.",
    }),
    status_reason: z
      .string()
      .nullable()
      .meta({ description: "Why the domain is degraded, failed or expired, or how it lost its name, for people." }),
    deletes_at: Timestamp.nullable().meta({
      description:
        "When a domain that lost its name is deleted, with everything in it. Until then you can read the domain, and `domains.add` can get it back. Null for all other domains.",
    }),
    outbound_routing_ready: z.boolean().meta({ description: "Whether mail can be sent from the domain." }),
    source: z
      .enum(["purchased", "connected"])
      .meta({ description: "`purchased` if the name was purchased here, `connected` if it was registered elsewhere." }),
    nameservers: z
      .array(z.string())
      .meta({ description: "The two nameservers to delegate the domain to. No other account has them." }),
    registration: RegistrationView.nullable().meta({
      description: "The domain's registration. Null if it was not purchased here.",
    }),
    renewal: RenewalView.nullable().meta({
      description: "The domain's latest renewal, which may be running. Null if it was never renewed.",
    }),
    auto_renew: z.boolean().meta({
      description: "Whether the registration is renewed for a year from 30 days before it ends, paid from the wallet.",
    }),
    redirect_url: z
      .string()
      .nullable()
      .meta({ description: "The address to which the domain's website redirects. Null if it does not redirect." }),
    dmarc_policy: DmarcPolicy.meta({ description: "What receivers should do with mail that fails DMARC." }),
    dmarc_report_email: z
      .string()
      .nullable()
      .meta({ description: "The e-mail address to which receivers send their DMARC reports." }),
    dedicated_ip_id: Id.nullable().meta({
      description: "The dedicated IP that the domain sends from. Null for the shared addresses.",
    }),
    tags: z
      .array(
        z.object({
          id: Id.meta({ description: "The tag's id." }),
          name: z.string().meta({ description: "The tag's name." }),
        }),
      )
      .meta({ description: "The domain's tags." }),
    warnings: z
      .array(Warning)
      .meta({ description: "Warnings about the name, such as that it looks like another domain." }),
    verified_at: Timestamp.nullable().meta({
      description: "When the domain's delegation was first seen. Null before that.",
    }),
    created_at: Timestamp.meta({ description: "When the domain was added to the account." }),
    updated_at: Timestamp.meta({ description: "When the domain last changed." }),
  })
  .meta({ id: "Domain", description: "A domain of an account, for mail." });
export type Domain = z.output<typeof Domain>;

/** The state of a request to the registrar, and of the money held for it. */
const RegistrarRequest = z.object({
  hold_id: z.string(),
  stage: z.enum(["held", "asked", "running", "captured", "voided"]),
  /** When the registrar was first asked. An operation from before this time belongs to another request. */
  asked_at: Timestamp.optional(),
  /** When the registrar was asked for the last time, after the earlier requests had no effect. */
  asked_again_at: Timestamp.optional(),
  operation_id: z.string().optional(),
});
export type RegistrarRequest = z.output<typeof RegistrarRequest>;

/** The state of a purchase, from the hold on the money to its capture or release. */
const Purchase = RegistrarRequest.extend({
  batch_id: z.string(),
  /** The amount held, in minor units. */
  price: z.int(),
});
export type Purchase = z.output<typeof Purchase>;

/**
 * The state of a renewal, from the hold on the money to its capture or release. Both amounts are one hold. If the wallet
 * did not cover an automatic renewal, nothing was held, and the renewal is `voided`.
 */
const Renewal = RegistrarRequest.extend({
  id: z.string(),
  years: z.int(),
  /** The price of all years, in minor units. */
  price: z.int(),
  /** The price of the restoration, in minor units; 0 for a name that is not in redemption. */
  restore_fee: z.int(),
  /** The end of the registration before the renewal. */
  from: Timestamp,
  by: z.enum(["request", "auto"]),
  started_at: Timestamp,
  reason: z.string().nullable(),
  /** How many looks in a row found the registrar silent or the operation still running. */
  looks: z.int(),
});
export type Renewal = z.output<typeof Renewal>;

export const StoredDomain = Domain.omit({
  tags: true,
  outbound_routing_ready: true,
  unicode_name: true,
  renewal: true,
}).extend({
  account_id: z.string(),
  tag_ids: z.array(z.string()),
  deletes_at: Timestamp.nullable().default(null),
  /** The position of the domain in its workspace's list. */
  workspace_ordinal: z.int(),
  mailbox_count: z.int(),
  /**
   * The head of the list of the domain's mailboxes, with `mailbox_count` as the number of its rows: the ordinal that the
   * next row gets, and the deleted ordinals of each block. Absent until a domain of an earlier version gets or loses a
   * mailbox; the list has a head item of its own until then.
   */
  mailbox_next: z.int().optional(),
  mailbox_holes: z.instanceof(Uint8Array).optional(),
  record_count: z.int(),
  /**
   * Whether records and mailboxes can be added: false while the domain is released, and after its registration failed.
   */
  is_open: z.boolean(),
  /** When the worker looks at it next; null when there is nothing to do. */
  due_at: Timestamp.nullable(),
  /** How many times in a row the due work failed, or a check found a fault. */
  failures: z.int(),
  registration: StoredRegistration.nullable(),
  purchase: Purchase.optional(),
  /** The latest renewal; absent for a name that was never renewed. */
  renewal: Renewal.optional(),
  /** The latest notice that the registration ends, and the end that it was about. Absent before the first notice. */
  notice: z.object({ expires_at: Timestamp, days: z.int() }).optional(),
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
    "renewed",
    "renewal_failed",
    "expiring",
    "released",
    "taken_over",
    "regained",
    "deleted",
  ],
  view: Domain,
  seenWith: "domain.view",
});

export const noSuchDomain = "There is no such domain in this account, or you cannot see it";

/** Whether a domain may send mail. A degraded domain still may; its health reports the fault. */
export const sendsMail = ({ status }: Pick<StoredDomain, "status">): boolean =>
  status === "active" || status === "degraded";

export type Renewing = StoredDomain & { renewal: Renewal };

/** Whether a renewal of the domain is in progress. Its price is held meanwhile. */
export const isRenewing = (domain: StoredDomain | undefined): domain is Renewing =>
  domain?.renewal !== undefined && ["held", "asked", "running"].includes(domain.renewal.stage);

/** Whether the name is registered here and works: the registration may be in grace. */
export const isRegistered = ({ registration }: Pick<StoredDomain, "registration">): boolean =>
  registration?.status === "active" || registration?.status === "grace";

/** A 409 `domain_not_ready`: the domain's status does not allow the operation. `detail` is a sentence for people. */
export const notReady = (status: DomainStatus, detail: string): Problem =>
  new Problem("domain_not_ready", detail, { domain_status: status });

/** Domains with work due at a certain time, keyed by account and domain. */
export const domainQueue: Queue = { name: "DOMAIN_DUE", shards: 64 };

/** Purchases whose payment has arrived, keyed by account and batch. */
export const batchQueue: Queue = { name: "PURCHASE_DUE", shards: 4 };
