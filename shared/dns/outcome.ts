import type { AnsweredRecord } from "./answer.ts";
import { rcode, type Message, type WireRecord } from "./message.ts";
import { answeredRecordOf } from "./rrset.ts";
import type { Question } from "./transport.ts";
import { isWithin } from "./wire-name.ts";

/**
 * A delegation from a server of the parent zone. `glue` are the addresses of a nameserver in the same message. A
 * nameserver whose name is outside the parent zone has no `glue`.
 */
export type Referral = {
  zone: string;
  ttl: number;
  nameservers: readonly { host: string; glue: readonly string[] }[];
};

/**
 * The reasons why a server, or all servers of a zone, gave no usable answer. A reason that is later in this list is
 * more informative.
 */
export const faults = ["unreachable", "silent", "garbled", "lame", "refusing", "failing"] as const;
export type Fault = (typeof faults)[number] | "out of time" | "out of queries";

/**
 * The meaning of a server's message.
 * - `found`: the records of the name and type.
 * - `alias`: the name has a CNAME to `target`.
 * - `referral`: the name belongs to a zone below, which other servers have.
 * - `none` and `absent`: as in `DnsAnswer`.
 * - `useless`: the message is no usable answer.
 */
export type Outcome =
  | { kind: "found"; records: readonly AnsweredRecord[] }
  | { kind: "alias"; target: string }
  | { kind: "referral"; referral: Referral }
  | { kind: "none" | "absent" }
  | { kind: "useless"; fault: Fault };

const useless = (fault: Fault): Outcome => ({ kind: "useless", fault });

const foundIn = (section: readonly WireRecord[]): AnsweredRecord[] =>
  section.flatMap((record) => answeredRecordOf(record) ?? []);

/** The glue of a host. A server has authority only over the names in its zone, so glue for other names is ignored. */
function glueOf(host: string, { additionals }: Message, zone: string): string[] {
  if (!isWithin(host, zone)) return [];
  return foundIn(additionals).flatMap((found) => (found.name === host && "address" in found ? [found.address] : []));
}

/**
 * The referral in a message. It must lead to the question's name or to an ancestor of this name, and to a zone below
 * the zone whose server was asked.
 */
function referralOf(message: Message, { name }: Question, zone: string): Referral | undefined {
  const delegations = foundIn(message.authorities).flatMap((found) =>
    found.type === "NS" && found.host !== "" ? [found] : [],
  );
  const first = delegations.find(
    (found) => found.name !== zone && isWithin(found.name, zone) && isWithin(name, found.name),
  );
  if (!first) return undefined;
  const hosts = new Set(delegations.flatMap((found) => (found.name === first.name ? [found.host] : [])));
  const nameservers = [...hosts].map((host) => ({ host, glue: glueOf(host, message, zone) }));
  return { zone: first.name, ttl: first.ttl, nameservers };
}

/**
 * Whether a negative authoritative answer is about this zone. If the answer has an SOA, the SOA's name must be the
 * zone, the question's name, or a name between them.
 */
function isAbout({ authorities }: Message, { name }: Question, zone: string): boolean {
  const soa = authorities.find(({ type }) => type === "SOA");
  return soa === undefined || (isWithin(soa.name, zone) && isWithin(name, soa.name));
}

/** The meaning of a message with the authority bit. */
function authoritativeOutcome(message: Message, question: Question, zone: string): Outcome {
  const own = message.answers.filter(({ name }) => name === question.name);
  const asked = own.filter(({ type }) => type === question.type);
  if (asked.length > 0) {
    const records = foundIn(asked);
    return records.length > 0 && message.rcode === rcode.noError ? { kind: "found", records } : useless("garbled");
  }
  if (own.some(({ type }) => type === "CNAME")) {
    const [target] = foundIn(own).flatMap((found) => (found.type === "CNAME" ? [found.host] : []));
    return target === undefined ? useless("garbled") : { kind: "alias", target };
  }
  if (!isAbout(message, question, zone)) return useless("lame");
  if (message.rcode === rcode.nxDomain) return { kind: "absent" };
  const referral = referralOf(message, question, zone);
  if (referral) return { kind: "referral", referral };
  const types = new Set(message.authorities.map(({ type }) => type));
  // RFC 2308 §2.2: NS records without an SOA are a referral. This referral does not lead to a zone below, so the server
  // does not know the zone.
  return types.has("NS") && !types.has("SOA") ? useless("lame") : { kind: "none" };
}

/**
 * The meaning of a message as the answer to a question. `zone` is the zone whose server was asked. In a message without
 * the authority bit, only a referral to a zone below counts.
 */
export function outcomeOf(message: Message, question: Question, zone: string): Outcome {
  if (message.isTruncated) return useless("garbled");
  if (message.rcode === rcode.refused) return useless("refusing");
  if (message.rcode !== rcode.noError && message.rcode !== rcode.nxDomain) return useless("failing");
  if (message.isAuthoritative) return authoritativeOutcome(message, question, zone);
  const referral = message.rcode === rcode.noError ? referralOf(message, question, zone) : undefined;
  return referral ? { kind: "referral", referral } : useless("lame");
}
