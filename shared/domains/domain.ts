import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Problem } from "../core/errors.ts";
import { Id, ordinalOf } from "../core/ids.ts";
import { Timestamp } from "../core/time.ts";
import type { Queue } from "../table/due.ts";
import { type List, rowKey } from "../table/ranked-list.ts";
import type { Key } from "../table/writes.ts";
import { MtaStsMode } from "./records/mta-sts.ts";
import {
  RegistrationView,
  RenewalView,
  TransferView,
  StoredRegistration,
  Purchase,
  Renewal,
  Transfer,
} from "./registration-state.ts";

/*
 * Access patterns
 *   domains of an account, oldest first, and one by the ordinal in its id   ACCOUNT#<id> / LIST#domains
 *   references to the domains of a workspace, in the order of their arrival ACCOUNT#<id> / LIST#workspace/<id>/domains
 *   the id of an account's domain, by the domain's name                     ACCOUNT#<id> / DOMAIN_NAME#<name>
 *   the account that holds a name, among all accounts                       DOMAIN#<name> / HOLDER
 *   the domain that is registering or transferring a name, in any account   DOMAIN#<name> / BUYER
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
/**
 * The row key of the domain with this id. An id that contains no ordinal gets the ordinal 2 ** 40, which is higher than
 * the ordinal of any domain.
 */
export const domainKey = (accountId: string, id: string): Key => rowKey(domainsOf(accountId), ordinalOf(id) ?? 2 ** 40);

export const DomainStatus = z.enum([
  "pending_registration",
  "pending_transfer",
  "pending_delegation",
  "active",
  "degraded",
  "failed",
  "suspended",
  "expired",
  "releasing",
]);
export type DomainStatus = z.output<typeof DomainStatus>;

/** The host of a domain's DNS: our nameservers, or others that the customer chose. */
export const DnsMode = z.enum(["hosted", "external"]);
export type DnsMode = z.output<typeof DnsMode>;

/** The checks whose failure makes a domain degraded. */
export const DegradingCheck = z.enum(["ns", "proof", "mx", "spf", "dkim"]);
export type DegradingCheck = z.output<typeof DegradingCheck>;

export const DmarcPolicy = z.enum(["none", "quarantine", "reject"]);

export const Warning = z
  .object({
    code: z.enum(["lookalike"]).meta({ description: "The kind of warning." }),
    message: z.string().meta({ description: "A sentence for people." }),
    names: z.array(z.string()).meta({ description: "The names that the warning is about." }),
  })
  .meta({ id: "DomainWarning", description: "A warning about a name. It does not prevent anything." });
export type Warning = z.output<typeof Warning>;

const DkimKey = z
  .object({
    selector: z
      .string()
      .meta({ description: "The key's selector (RFC 6376): its record is at `<selector>._domainkey`." }),
    status: z.enum(["pending", "signing", "retiring"]).meta({
      description:
        "Mail is signed with the `signing` key. A `pending` key waits until its record is seen in the DNS, and signs then. The record of a `retiring` key stays in the DNS for the mail that this key signed.",
    }),
    since: Timestamp.meta({ description: "Since when the key has this status." }),
    removes_at: Timestamp.nullable().meta({
      description: "When the record of a `retiring` key is removed; else null.",
    }),
  })
  .meta({ id: "DkimKey", description: "A key for the signatures of a domain's mail." });

export const Domain = z
  .object({
    id: Id.meta({ description: "The domain's id." }),
    name: z.string().meta({ description: "The domain's name, as A-labels in lower case." }),
    unicode_name: z.string().meta({ description: "The domain's name for people, with the letters of its language." }),
    workspace_id: Id.meta({ description: "The domain's workspace." }),
    status: DomainStatus.meta({
      description:
        "`pending_registration` or `pending_transfer` → `pending_delegation` → `active` ⇄ `degraded`. A `failed` domain could not be registered or transferred, and costs nothing. The registration and the grace period of an `expired` domain have ended. A `releasing` domain was deleted, or has lost its name. No domain is `suspended` at present.",
    }),
    status_reason: z.string().nullable().meta({
      description:
        "A text for people: why the domain is degraded, failed, expired or releasing, or why it stays `pending_delegation` although its name is proved.",
    }),
    broken_records: z.array(DegradingCheck).meta({
      description:
        "The checks of `domains.health` that failed last, while the domain is degraded. Each change of this list is an event.",
    }),
    deletes_at: Timestamp.nullable().meta({
      description:
        "When the domain is removed with everything in it, because it was deleted or has lost its name. Until then you can read the domain, and get it back: with `domains.restore`, or with `domains.purchase` or `domains.add` if its registration has ended. Null for all other domains.",
    }),
    outbound_routing_ready: z.boolean().meta({
      description:
        "Whether mail can be sent from the domain. An external domain is ready once its SPF and DKIM records have been right in the public DNS.",
    }),
    source: z.enum(["purchased", "connected"]).meta({
      description:
        "`purchased` if the name was purchased or transferred here, `connected` if it is registered elsewhere.",
    }),
    dns_mode: DnsMode.meta({
      description:
        "`hosted` if our nameservers have the domain's DNS, `external` if the customer keeps it elsewhere. The product sets the nameservers at the registrar for hosted domains only.",
    }),
    nameservers: z
      .array(z.string())
      .meta({ description: "The two nameservers to delegate the domain to. No other account has the same two." }),
    registration: RegistrationView.nullable().meta({
      description: "The domain's registration. Null if it was not purchased here.",
    }),
    renewal: RenewalView.nullable().meta({
      description: "The domain's latest renewal, which may be running. Null if it was never renewed.",
    }),
    transfer: TransferView.nullable().meta({
      description:
        "The domain's latest transfer from another registrar, which may be running. Null if it was never transferred.",
    }),
    auto_renew: z.boolean().meta({
      description:
        "Whether the product renews the registration by itself, for a year at a time. It begins to try 30 days before the registration ends. The wallet pays.",
    }),
    redirect_url: z
      .string()
      .nullable()
      .meta({ description: "The address to which the domain's website redirects. Null if it does not redirect." }),
    dmarc_policy: DmarcPolicy.meta({ description: "The action that receivers should take on mail that fails DMARC." }),
    dmarc_report_email: z
      .string()
      .nullable()
      .meta({ description: "The e-mail address to which receivers send their DMARC reports." }),
    spf_includes: z.array(z.string()).meta({
      description: "The names of other senders' SPF records, which the domain's SPF record includes.",
    }),
    mta_sts_mode: MtaStsMode.meta({
      description: "The mode of the domain's MTA-STS policy (RFC 8461). `none` if it has no policy in force.",
    }),
    tls_report_email: z.string().nullable().meta({
      description: "The e-mail address to which senders report on their TLS connections (RFC 8460). Null for none.",
    }),
    dkim_keys: z.array(DkimKey).meta({
      description:
        "The keys for the signatures of the domain's mail: none before the domain is active, two during a rotation.",
    }),
    dkim_rotation_months: z.int().nullable().meta({
      description: "After how many months the DKIM key is rotated. Null if it is rotated on request only.",
    }),
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
      description:
        "When the domain was first proved, by its delegation or its TXT record. Null before that. If the domain loses its name and gets it back, only the proofs since then count.",
    }),
    created_at: Timestamp.meta({ description: "When the domain was added to the account." }),
    updated_at: Timestamp.meta({ description: "When the domain last changed." }),
  })
  .meta({ id: "Domain", description: "A domain of an account, for mail." });
export type Domain = z.output<typeof Domain>;

/** The state of a domain's DKIM keys; the keys themselves are in shared/domains/records/dkim-keys.ts. */
const DkimState = z.object({
  /** The selector of the key that signs, and since when this key signs. */
  selector: z.string(),
  since: Timestamp,
  /** The key that signs next; absent unless a rotation waits for the key's record in the DNS. */
  next: z.object({ selector: z.string(), since: Timestamp }).optional(),
  /** The key that signed before the present key; absent once the former key's record is removed. */
  former: z.object({ selector: z.string(), removes_at: Timestamp }).optional(),
  /** When the worker advances the rotation next; null if no rotation runs. */
  due_at: Timestamp.nullable(),
  /** How many times the worker has looked for the record of the next key. */
  looks: z.int(),
});
export type DkimState = z.output<typeof DkimState>;

export const StoredDomain = Domain.omit({
  tags: true,
  outbound_routing_ready: true,
  unicode_name: true,
  renewal: true,
  transfer: true,
  dkim_keys: true,
}).extend({
  account_id: z.string(),
  tag_ids: z.array(z.string()),
  deletes_at: Timestamp.nullable().default(null),
  dns_mode: Domain.shape.dns_mode.default("hosted"),
  broken_records: Domain.shape.broken_records.default([]),
  /**
   * Whether an external domain may send mail. True in two cases:
   * - The domain's SPF and DKIM records were right in the public DNS at least once.
   * - The domain could send mail before its DNS mode changed.
   *
   * Also true for a hosted domain that continues to send mail while it waits for its delegation.
   */
  sending_ready: z.boolean().default(false),
  /**
   * True if the name was verified before the domain lost the name and got it back. `verified_at` says only whether the
   * name was verified after that.
   */
  was_verified: z.boolean().optional(),
  /**
   * For an external domain: the checks that passed, or ended with a warning, at least once. A failure of any other
   * check is no fault, because the customer has not set up its record yet. But a failure of `proof` is always a fault.
   */
  seen_right: z.array(DegradingCheck).default([]),
  /**
   * Not null while our nameservers still serve the zone of an external domain. `gone_at` is the time at which a check
   * first found that the parent zone does not delegate the name to us any more. `gone_at` is null while the parent zone
   * still delegates the name to us.
   */
  handover: z.object({ gone_at: Timestamp.nullable() }).nullable().default(null),
  spf_includes: z.array(z.string()).default([]),
  /** Null until the domain has its first policy. From then on, `none` is also a policy: it ends the former policy. */
  mta_sts_mode: MtaStsMode.nullable().default(null),
  tls_report_email: z.string().nullable().default(null),
  dkim_rotation_months: z.int().nullable().default(null),
  /** Absent until the first rotation of the DKIM key. */
  dkim: DkimState.optional(),
  /** The position of the domain in its workspace's list. */
  workspace_ordinal: z.int(),
  /**
   * The next three members are the head of the domain's list of mailboxes (shared/table/ranked-list.ts):
   * - `mailbox_count` is the number of rows.
   * - `mailbox_next` is the ordinal that the next row gets.
   * - `mailbox_holes` has the number of deleted ordinals in each block of ordinals.
   *
   * A domain that an earlier version stored lacks `mailbox_next` and `mailbox_holes` until the domain gets or loses a
   * mailbox. Until then, the head of the list is a separate item.
   */
  mailbox_count: z.int(),
  mailbox_next: z.int().optional(),
  mailbox_holes: z.instanceof(Uint8Array).optional(),
  /** How many deleted mailboxes were restored into the domain's list; absent before the first restoration. */
  mailbox_returned: z.int().optional(),
  record_count: z.int(),
  /**
   * Whether the domain is open for changes: false while the domain is `releasing`, and after its registration or
   * transfer failed.
   */
  is_open: z.boolean(),
  /** When the worker looks at the domain next; null if there is nothing to do. */
  due_at: Timestamp.nullable(),
  /**
   * How many checks in a row found a fault, or left the domain `pending_delegation`. During a registration: the `looks`
   * of the request to the registrar.
   */
  failures: z.int(),
  /** How many checks in a row found no proof that the account owns the name. Absent until a check finds none. */
  unproved: z.int().optional(),
  registration: StoredRegistration.nullable(),
  /** Whether the registrar refused our nameservers at the last check of the registration. Absent means false. */
  nameservers_refused: z.boolean().optional(),
  purchase: Purchase.optional(),
  /** The latest renewal; absent for a name that was never renewed. */
  renewal: Renewal.optional(),
  /** The registrar's operation for the latest change of the contact. Absent before the first change. */
  contact_update: z.object({ operation_id: z.string(), started_at: Timestamp }).optional(),
  /** The end of the last claim to change the contact. Until then, no other call may change the contact. */
  contact_claimed_until: Timestamp.optional(),
  /** A random id of the call that made this claim. Absent if an earlier version made the claim. */
  contact_claimed_by: z.string().optional(),
  /** The latest transfer to us; absent for a name that was never transferred. */
  transfer: Transfer.optional(),
  /**
   * The latest notice that the registration ends. `expires_at` is the end, and `days` is the number of days from the
   * notice to the end. Absent before the first notice.
   */
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
    "dkim_rotation_started",
    "dkim_rotated",
    "dkim_key_removed",
    "renewed",
    "renewal_failed",
    "transferred",
    "transfer_failed",
    "transferred_out",
    "auth_code_created",
    "contact_updated",
    "expiring",
    "expired",
    "released",
    "taken_over",
    "regained",
    "releasing",
    "restored",
    "deleted",
  ],
  view: Domain,
  seenWith: "domain.view",
});

export const noSuchDomain = "There is no such domain in this account, or you cannot see it";

/**
 * Whether a domain may send mail. A degraded domain may send mail; its health reports the fault. If a domain could send
 * mail before a change of its DNS mode, it may also send mail while it waits for the new proof.
 */
export function sendsMail({ status, dns_mode, sending_ready }: Sending): boolean {
  if (status === "pending_delegation") return sending_ready;
  return (status === "active" || status === "degraded") && (dns_mode === "hosted" || sending_ready);
}
/** The members that decide whether a domain may send mail. */
type Sending = Pick<StoredDomain, "status" | "dns_mode" | "sending_ready">;

/** Whether a domain is proved and in use, or still sends mail while it waits for the proof of a new DNS mode. */
export const isInUse = (domain: Sending): boolean =>
  domain.status === "active" || domain.status === "degraded" || sendsMail(domain);

export type Renewing = StoredDomain & { renewal: Renewal };

/** Whether a renewal of the domain is in progress. Its price is held meanwhile. */
export const isRenewing = (domain: StoredDomain | undefined): domain is Renewing =>
  domain?.renewal !== undefined && ["held", "asked", "running"].includes(domain.renewal.stage);

export type Transferring = StoredDomain & { transfer: Transfer };

/** Whether a transfer of the name to us is in progress. Its price is held meanwhile. */
export const isTransferring = (domain: StoredDomain | undefined): domain is Transferring =>
  domain?.transfer !== undefined && ["held", "asked", "running"].includes(domain.transfer.stage);

/** The members of a domain whose name was proved again. Its count of checks without a proof starts again at 0. */
export const provedAgainMembers = ({ unproved }: Pick<StoredDomain, "unproved">): { unproved?: number } =>
  unproved === undefined ? {} : { unproved: 0 };

/** Whether the account has ever proved that the name is its own. */
export const wasVerified = ({
  verified_at,
  was_verified,
}: Pick<StoredDomain, "verified_at" | "was_verified">): boolean => verified_at !== null || was_verified === true;

/**
 * The members of a domain that gets its name back after it lost the name. Others may have received mail at the name
 * meanwhile. So `verified_at` is null, which refuses logins to the mailboxes until the name is proved again.
 */
export const regainedMembers = (domain: StoredDomain) => ({
  status_reason: null,
  deletes_at: null,
  handover: null,
  sending_ready: false,
  seen_right: [],
  verified_at: null,
  ...(wasVerified(domain) ? { was_verified: true } : {}),
  is_open: true,
  failures: 0,
  ...provedAgainMembers(domain),
});

/** Whether the name is registered here and works. The registration may be in grace. */
export const isRegistered = ({ registration }: Pick<StoredDomain, "registration">): boolean =>
  registration?.status === "active" || registration?.status === "grace";

/** Whether the account still has the name at the registrar: the name is registered, or in redemption. */
export const hasRegistration = (domain: Pick<StoredDomain, "registration">): boolean =>
  isRegistered(domain) || domain.registration?.status === "redemption";

/** A 409 `domain_not_ready`: the domain's status does not allow the operation. `detail` is a sentence for people. */
export const notReady = (status: DomainStatus, detail: string): Problem =>
  new Problem("domain_not_ready", detail, { domain_status: status });

/** The queue of domains that the worker has to look at. The account and the domain identify a task. */
export const domainQueue: Queue = { name: "DOMAIN_DUE", shards: 64 };

/** The queue of rotations of DKIM keys. The account and the domain identify a task. */
export const dkimQueue: Queue = { name: "DKIM_DUE", shards: 4 };

/**
 * The queue of transfers to us. The account and the domain identify a task. Transfers have a queue of their own,
 * because a connected domain is still checked during its transfer, and the two tasks are due at different times.
 */
export const transferQueue: Queue = { name: "TRANSFER_DUE", shards: 4 };

/** The queue of purchases and transfers whose payment has arrived. The account and the batch identify a task. */
export const batchQueue: Queue = { name: "PURCHASE_DUE", shards: 4 };
