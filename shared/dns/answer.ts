import type { Budget } from "./budget.ts";

/** One record as it came off the wire, its data in the field for its type; names in lower case without a final dot. */
export type Found = { name: string; ttl: number } & (
  | { type: "A" | "AAAA"; address: string }
  | { type: "CNAME" | "NS" | "PTR"; host: string }
  | { type: "MX"; priority: number; host: string }
  | { type: "TXT"; text: string }
  | { type: "SRV"; priority: number; weight: number; port: number; host: string }
  | { type: "CAA"; flags: number; tag: string; value: string }
);

/**
 * What a question came to. `none`: the name has no record of the type (NODATA); `absent`: there is no such name
 * (NXDOMAIN); `unknown`: it could not be found out, and nothing follows from it. `reason` is a clause for people, such
 * as "the nameservers of example.com do not answer".
 */
export type Answer =
  | { status: "found"; records: readonly Found[] }
  | { status: "none" }
  | { status: "absent" }
  | { status: "unknown"; reason: string };

/** To whom the parent zone says a name is delegated. */
export type Delegation =
  | { status: "delegated"; nameservers: readonly string[] }
  /** The parent has the name in its own zone, or has nothing of it. */
  | { status: "none" }
  | { status: "absent" }
  | { status: "unknown"; reason: string };

/** Asks the public DNS, from the root on, and believes nothing that leads inside. Never throws for what others answer. */
export type Resolver = {
  /**
   * The records of a name and type, CNAMEs followed; the records are those at the end of the chain. Every message sent is
   * taken out of `within` as well: what several questions may cost together.
   */
  resolve: (name: string, type: Found["type"], within?: Budget) => Promise<Answer>;
  /** What the parent's nameservers say of a name, without asking the name's own. */
  delegation: (name: string) => Promise<Delegation>;
};
