import type { RecordType } from "../../dns/rrset.ts";

/** What a record has beside its name, type and value: those that its type has, and no others. */
export type Members = {
  /** In seconds, 60 to 86400. */
  ttl: number;
  /** MX and SRV: the lowest goes first, 0 to 65535. */
  priority?: number;
  /** SRV: the share among those of one priority, 0 to 65535. */
  weight?: number;
  /** SRV: 0 to 65535. */
  port?: number;
  /** CAA: 0, or 128 for critical. */
  flags?: number;
  /** CAA: what the value is for. */
  tag?: string;
};

/**
 * A DNS record in its one normal form. Names, also in the value, are lower-case A-labels without a final dot: `name` is
 * relative to the zone (`@`, `www`, `*.sub`), hosts in `value` are absolute; `.` is the value of an MX or SRV record
 * that says there is no host. The value of a TXT record is its whole text.
 */
export type ParsedRecord = { name: string; type: RecordType; value: string } & Members;

/** A DNS record as a customer writes it: of the right types, and nothing else known of it. */
export type RecordInput = { name: string; type: RecordType; value: string } & {
  [Member in keyof Members]?: Members[Member] | undefined;
};

/** What is wrong with a member, as a sentence without its period. */
export type RecordFault = { member: "name" | "value" | keyof Members; message: string };
