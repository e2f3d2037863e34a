import { createHash, randomInt } from "node:crypto";

import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Problem } from "../core/errors.ts";
import { Id, ordinalOf } from "../core/ids.ts";
import { line } from "../core/text.ts";
import { Timestamp } from "../core/time.ts";
import type { Queue } from "../table/due.ts";
import { rowKey, type List } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";

/*
 * Access patterns
 *   dedicated IPs of an account, oldest first, and one by its id   ACCOUNT#<id> / LIST#dedicated_ips
 *   the domains that send from a dedicated IP, by their id         ACCOUNT#<id> / IP_DOMAIN#<dedicated IP>#<domain>
 */
/** The list of an account's dedicated IPs. */
export const ipsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "dedicated_ips" });
/** The key of the dedicated IP with this id. An id that contains no ordinal gets a key that no dedicated IP has. */
export const ipKey = (accountId: string, id: string): Key => rowKey(ipsOf(accountId), ordinalOf(id) ?? 2 ** 40);
/** The key of the entry of a domain that sends from a dedicated IP. */
export const ipDomainKey = (accountId: string, id: string, domainId = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `IP_DOMAIN#${id}#${domainId}`,
});

/** How many dedicated IPs an account can have. */
export const accountLimit = 100;

export const IpType = z.enum(["managed", "byoh"]);
export const IpStatus = z.enum([
  "provisioning",
  "pending_authorization",
  "verifying",
  "active",
  "degraded",
  "suspended",
  "releasing",
]);
export type IpStatus = z.output<typeof IpStatus>;

export const IpName = line({ most: 100, description: "The dedicated IP's name." });

const SetupRecord = z
  .object({
    name: z
      .string()
      .meta({ description: "The record's full name: `_setup.` and the name in the address's reverse DNS." }),
    type: z.literal("TXT").meta({ description: "The record's type." }),
    value: z.string().meta({ description: "The record's text: the SHA-256 of the setup key, in hexadecimal." }),
  })
  .meta({ id: "SetupRecord", description: "The DNS record that proves that an address belongs to your own host." });

const Address = z
  .object({
    ip: z.string().meta({ description: "The address. An IPv6 address is in the form of RFC 5952." }),
    rdns: z.string().nullable().meta({ description: "The name in the address's reverse DNS. Null if there is none." }),
    fcrdns_confirmed: z
      .boolean()
      .meta({ description: "Whether the name in `rdns` leads back to the address (forward-confirmed reverse DNS)." }),
    healthy: z.boolean().meta({ description: "Whether the address passed its last completed check." }),
    message: z.string().meta({ description: "The result of the last check, or what to do, for people." }),
    setup_record: SetupRecord.nullable().meta({
      description:
        "The record to publish for your own host. Null until the host has a setup key and the address has a name.",
    }),
  })
  .meta({ id: "DedicatedIpAddress", description: "One address of a dedicated IP." });

export const DedicatedIp = z
  .object({
    id: Id.meta({ description: "The dedicated IP's id." }),
    name: z.string().meta({ description: "The dedicated IP's name." }),
    type: IpType.meta({
      description: "`managed` is an address that you claimed from us. `byoh` is your own host.",
    }),
    status: IpStatus.meta({
      description:
        "Managed: `provisioning` → `active`. Your own host: `pending_authorization` → `verifying` → `active`. Your own host is `verifying` again after `reissue`. It is `pending_authorization` again if it is not proved within 30 days, or if another account takes over an address. Both: `active` ⇄ `degraded`, and `suspended` by us. No dedicated IP has the status `releasing` at present. Mail leaves from the dedicated IP only while it is `active`, and otherwise from the shared addresses.",
    }),
    status_reason: z.string().nullable().meta({ description: "The reason for the status, for people." }),
    asn: z.int().nullable().meta({ description: "The autonomous system of the address. Null for your own host." }),
    country_code: z
      .string()
      .nullable()
      .meta({ description: "The country of the address, as an ISO 3166-1 alpha-2 code. Null for your own host." }),
    ip_addresses: z.array(Address).meta({ description: "The dedicated IP's addresses." }),
    domain_count: z.int().min(0).nullable().meta({
      description:
        "The number of domains that send from the dedicated IP. Null if you cannot see all domains of the account, and in events.",
    }),
    created_at: Timestamp.meta({ description: "When the dedicated IP was claimed or added." }),
    updated_at: Timestamp.meta({ description: "When the dedicated IP last changed." }),
  })
  .meta({
    id: "DedicatedIp",
    description: "An address, or a host with several addresses, from which only domains of the account send.",
  });
export type DedicatedIp = z.output<typeof DedicatedIp>;

const DomainSummary = z
  .object({
    id: Id.meta({ description: "The domain's id." }),
    name: z.string().meta({ description: "The domain's name." }),
  })
  .meta({ id: "DedicatedIpDomain", description: "A domain that sends from a dedicated IP." });

export const DedicatedIpWithDomains = DedicatedIp.extend({
  domains: z.array(DomainSummary).meta({
    description: "The first 100 domains that send from the dedicated IP and that the caller can see.",
  }),
}).meta({ id: "DedicatedIpWithDomains", description: "A dedicated IP with its domains." });
export type DedicatedIpWithDomains = z.output<typeof DedicatedIpWithDomains>;

const StoredIpAddress = Address.omit({ setup_record: true }).extend({
  /**
   * The reverse name of the address at the last check that passed. For a host, a check under another name fails,
   * because the proof is public: a later owner of the address could copy the proof to another name. Absent until a
   * check passes, and after the host gets a new setup key. Earlier versions did not store the name.
   */
  proved_name: z.string().optional(),
});
export type StoredIpAddress = z.output<typeof StoredIpAddress>;

export const StoredIp = DedicatedIp.omit({ ip_addresses: true }).extend({
  account_id: z.string(),
  domain_count: z.int(),
  addresses: z.array(StoredIpAddress),
  /** The option of a managed dedicated IP. */
  option_id: z.string().optional(),
  /** The reverse name that the address of a managed dedicated IP must have. */
  rdns: z.string().optional(),
  /** The server that sends the mail of a managed dedicated IP, as `address:port`. */
  relay: z.string().optional(),
  /** The hold on the price of the first days of a managed dedicated IP. */
  hold_id: z.string().optional(),
  /**
   * The price of the first days of a managed dedicated IP, without VAT, in minor units of the account's currency.
   * Absent if an earlier version claimed the IP.
   */
  first_days_price: z.int().optional(),
  /** The end of the time for which a managed dedicated IP is paid in advance. */
  paid_until: Timestamp.optional(),
  /** When a managed dedicated IP became active. Absent if an earlier version, which had no warm-ups, activated it. */
  activated_at: Timestamp.optional(),
  /** The SHA-256 of the setup key of a host, in hexadecimal. */
  key_hash: z.string().optional(),
  /** The sealed password with which our mail servers log in at a host. Each new setup key comes with a new password. */
  sealed_relay_password: z.string().optional(),
  /** When the setup key of a host was issued. */
  key_issued_at: Timestamp.optional(),
  /** The status that a suspended dedicated IP gets when it is resumed: usually its status before the suspension. */
  suspended_from: IpStatus.optional(),
  /** When the worker checks the dedicated IP next; null if no check is scheduled. */
  due_at: Timestamp.nullable(),
  /** The number of failed checks in a row. Before the activation, checks with the result `unknown` count too. */
  failures: z.int(),
  version: z.int(),
});
export type StoredIp = z.output<typeof StoredIp>;

export const ipKind = defineKind({
  name: "dedicated_ip",
  verbs: [
    "created",
    "key_issued",
    "activated",
    "updated",
    "degraded",
    "recovered",
    "suspended",
    "resumed",
    "domains_assigned",
    "domains_unassigned",
    "taken_over",
    "failed",
    "deleted",
  ],
  view: DedicatedIp,
  own: DedicatedIp.omit({ domain_count: true, updated_at: true }),
  // A caller who may see the dedicated IPs gets the events, even if the caller may not see the domains.
  redact: (view) => ({ ...view, domain_count: null }),
  seenWith: "ip.view",
});
export type IpVerb = (typeof ipKind.verbs)[number];

/** Reads the dedicated IP with this id; undefined if the account does not have it. */
export async function ipById(table: Reader, accountId: string, id: string): Promise<StoredIp | undefined> {
  const ip = await table.get(ipKey(accountId, id), StoredIp);
  return ip?.id === id ? ip : undefined;
}

/** Whether domains can be assigned to the dedicated IP. */
export const isAssignable = ({ status }: Pick<StoredIp, "status">): boolean =>
  status === "active" || status === "degraded";

/** The queue of dedicated IPs to check. The account and the dedicated IP identify a task. */
export const ipQueue: Queue = { name: "IP_DUE", shards: 16 };

/** The queue of operations that may have been abandoned. The account and the dedicated IP identify a task. */
export const operationQueue: Queue = { name: "IP_OPERATION_DUE", shards: 4 };

/** The 409 for a dedicated IP whose status does not allow the request. `detail` is a sentence for people. */
export const notReady = (status: IpStatus, detail: string): Problem =>
  new Problem("ip_not_ready", detail, { ip_status: status });

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^27 possible keys are more than 2^160. */
const keyLength = 27;

const randomText = (): string =>
  Array.from({ length: keyLength }, () => alphabet.charAt(randomInt(alphabet.length))).join("");

/** A new password with which our mail servers log in at a host. */
export const newRelayPassword = (): string => randomText();

/** A new setup key, which is shown only once, and its SHA-256 in hexadecimal, which is published and stored. */
export function newSetupKey(): { key: string; hash: string } {
  const key = `sk_${randomText()}`;
  return { key, hash: createHash("sha256").update(key).digest("hex") };
}

/** Whether a published text is the hash of a key, alone or after `sha256=`. */
export const isProof = (text: string, hash: string): boolean =>
  text
    .trim()
    .replace(/^sha256=/i, "")
    .toLowerCase() === hash;
