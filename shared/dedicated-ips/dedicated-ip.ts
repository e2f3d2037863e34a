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
 *   the domains that send from one, by id                          ACCOUNT#<id> / IP_DOMAIN#<dedicated IP>#<domain>
 */
export const ipsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "dedicated_ips" });
/** The key of the dedicated IP with this id. An id in another form gets an ordinal that is never used. */
export const ipKey = (accountId: string, id: string): Key => rowKey(ipsOf(accountId), ordinalOf(id) ?? 2 ** 40);
export const ipDomainKey = (accountId: string, id: string, domainId = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `IP_DOMAIN#${id}#${domainId}`,
});

/** The most dedicated IPs of an account. */
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
    name: z.string().meta({ description: "The record's full name: `_setup.` and the host's name." }),
    type: z.literal("TXT").meta({ description: "The record's type." }),
    value: z.string().meta({ description: "The record's text: the SHA-256 of the setup key, in hexadecimal." }),
  })
  .meta({ id: "SetupRecord", description: "The DNS record that proves your own host." });

const Address = z
  .object({
    ip: z.string().meta({ description: "The address. An IPv6 address is in the form of RFC 5952." }),
    rdns: z.string().nullable().meta({ description: "The name in the address's reverse DNS. Null if there is none." }),
    fcrdns_confirmed: z
      .boolean()
      .meta({ description: "Whether the name in `rdns` leads back to the address (forward-confirmed reverse DNS)." }),
    healthy: z.boolean().meta({ description: "Whether the last check of the address found everything correct." }),
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
        "Managed: `provisioning` → `active`. Your own host: `pending_authorization` → `verifying` → `active`. Both: `active` ⇄ `degraded`, `suspended` by us, and `releasing` during the deletion. Mail leaves from the dedicated IP only while it is `active`.",
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
        "The number of domains that send from the dedicated IP. Null if you cannot see all domains of the account.",
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

export const DedicatedIpDetail = DedicatedIp.extend({
  domains: z.array(DomainSummary).meta({
    description: "The first 100 domains that send from the dedicated IP and that the caller can see.",
  }),
}).meta({ id: "DedicatedIpDetail", description: "A dedicated IP with its domains." });
export type DedicatedIpDetail = z.output<typeof DedicatedIpDetail>;

const StoredIpAddress = Address.omit({ setup_record: true });
export type StoredIpAddress = z.output<typeof StoredIpAddress>;

export const StoredIp = DedicatedIp.omit({ ip_addresses: true }).extend({
  account_id: z.string(),
  domain_count: z.int(),
  addresses: z.array(StoredIpAddress),
  /**
   * Only of a managed one: its option, its reverse name, the server that takes its mail (`address:port`), and the hold
   * on the price of its first days.
   */
  option_id: z.string().optional(),
  rdns: z.string().optional(),
  relay: z.string().optional(),
  hold_id: z.string().optional(),
  /** The end of the time paid in advance. */
  paid_until: Timestamp.optional(),
  /** Only of a host: the SHA-256 of its setup key in hexadecimal, and the time when the key was made. */
  key_hash: z.string().optional(),
  key_issued_at: Timestamp.optional(),
  /** The status before the suspension by the operator. */
  suspended_from: IpStatus.optional(),
  /** When the worker checks it next; null when there is nothing to do. */
  due_at: Timestamp.nullable(),
  /** How many checks in a row have failed. */
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
  seenWith: "ip.view",
});
export type IpVerb = (typeof ipKind.verbs)[number];

/** The dedicated IP with this id; undefined when the account does not have it. */
export async function ipById(table: Reader, accountId: string, id: string): Promise<StoredIp | undefined> {
  const ip = await table.get(ipKey(accountId, id), StoredIp);
  return ip?.id === id ? ip : undefined;
}

/** Whether domains can be assigned to it. */
export const isAssignable = ({ status }: Pick<StoredIp, "status">): boolean =>
  status === "active" || status === "degraded";

/** The queue of dedicated IPs to check; the account and the dedicated IP identify a task. */
export const ipQueue: Queue = { name: "IP_DUE", shards: 16 };

/** The queue of assignments that may have been abandoned; the account and the dedicated IP identify a task. */
export const operationQueue: Queue = { name: "IP_OPERATION_DUE", shards: 4 };

/** 409 `ip_not_ready`: the status of the dedicated IP does not allow the request; `detail` is a sentence for people. */
export const notReady = (status: IpStatus, detail: string): Problem =>
  new Problem("ip_not_ready", detail, { ip_status: status });

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** The length gives 62^27 keys, more than 2^160. */
const length = 27;

/** A new setup key, which is shown only once, and its SHA-256 in hexadecimal, which is published and stored. */
export function newSetupKey(): { key: string; hash: string } {
  const characters = Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length)));
  const key = `sk_${characters.join("")}`;
  return { key, hash: createHash("sha256").update(key).digest("hex") };
}

/** Whether a published text is the hash of a key, alone or after `sha256=`. */
export const isProof = (text: string, hash: string): boolean =>
  text
    .trim()
    .replace(/^sha256=/i, "")
    .toLowerCase() === hash;
