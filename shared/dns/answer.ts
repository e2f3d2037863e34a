import type { Budget } from "./budget.ts";
import type { ZoneTransfer } from "./transfer.ts";

/**
 * One record from a DNS message, with its data in the fields for its type. Names are in lower case without a final dot.
 */
export type AnsweredRecord = { name: string; ttl: number } & (
  | { type: "A" | "AAAA"; address: string }
  | { type: "CNAME" | "NS" | "PTR"; host: string }
  | { type: "MX"; priority: number; host: string }
  | { type: "TXT"; text: string }
  | { type: "SRV"; priority: number; weight: number; port: number; host: string }
  | { type: "CAA"; flags: number; tag: string; value: string }
);

/**
 * The result of a question.
 * - `none`: the name has no record of the type (NODATA).
 * - `absent`: the name does not exist (NXDOMAIN).
 * - `unknown`: the question could not be answered, so nothing is known about the name. `reason` is a clause for people,
 *   such as "the nameservers of example.com do not answer".
 */
export type DnsAnswer =
  | { status: "found"; records: readonly AnsweredRecord[] }
  | { status: "none" }
  | { status: "absent" }
  | { status: "unknown"; reason: string };

/** The delegation of a name, according to its parent zone. */
export type Delegation =
  | { status: "delegated"; nameservers: readonly string[] }
  /** The parent has the name in its own zone, without a delegation. */
  | { status: "none" }
  | { status: "absent" }
  | { status: "unknown"; reason: string };

/**
 * Asks the public DNS, from the root servers or a cached zone on. A resolver sends nothing to an address that is not
 * public, unless its configuration names the address. A resolver never throws because of a DNS answer.
 */
export type Resolver = {
  /**
   * The records of a name and type at the end of the chain of CNAMEs. Each message counts against the limits of the
   * question itself, and against the budget `within`, which limits several questions together. A question uses the
   * delegations that earlier questions of the same budget found.
   */
  resolve: (name: string, type: AnsweredRecord["type"], within?: Budget) => Promise<DnsAnswer>;
  /** The delegation according to the parent's nameservers; the name's own nameservers are not asked. */
  delegation: (name: string) => Promise<Delegation>;
};

/** A resolver that also finds the delegations inside a zone, and transfers whole zones. */
export type ZoneResolver = Resolver & {
  /**
   * Finds the delegation inside the zone `parent` to which a name belongs. The delegation is at the name itself or at a
   * name above it, and the answer has its NS records. If the name belongs to no delegation, the answer says what
   * `parent` has at the name: `alias` for a CNAME, `none` for other records, `absent` if the name does not exist. The
   * name's own nameservers are not asked.
   */
  cut: (name: string, parent: string, within?: Budget) => Promise<DnsAnswer | { status: "alias" }>;
  /**
   * All records of a zone, from the first nameserver that transfers the zone (AXFR). Undefined if no nameserver
   * transfers the zone, or if the parent zone gives no referral to the nameservers. Takes some seconds at most.
   */
  transfer: (name: string) => Promise<ZoneTransfer | undefined>;
};
