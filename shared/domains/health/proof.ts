import { hash } from "node:crypto";

import * as z from "zod";

import type { Resolver } from "../../dns/answer.ts";
import type { StoredDomain } from "../domain.ts";
import type { ParsedRecord } from "../records/record.ts";

/** Why a name is not delegated to us. `not_checked` if the DNS gave no answer. */
const delegationFaults = ["not_checked", "not_registered", "not_delegated", "other_nameservers"] as const;

/** The result of checking how the parent zone delegates a name. */
type DelegationState = {
  /** Whether the name is delegated to our nameservers only; undefined if this could not be checked. */
  verified: boolean | undefined;
  observed: string[];
  fault: (typeof delegationFaults)[number] | null;
  message: string;
};

const joinNames = (names: readonly string[]): string => names.join(" and ");

type Delegated = Pick<StoredDomain, "name" | "nameservers"> & {
  registration?: StoredDomain["registration"];
  nameservers_refused?: StoredDomain["nameservers_refused"];
};

/**
 * What to do if a name is not delegated to us. If the name is registered here, the owner need not do anything, because
 * we ask the registry for the delegation, also after a refusal. Otherwise the owner has to make the change `change`.
 */
function remedyOf({ name, nameservers, registration, nameservers_refused }: Delegated, change: string): string {
  if (registration?.status !== "active" && registration?.status !== "grace") return change;
  return nameservers_refused === true
    ? `${name} is registered here, but our registrar has refused to delegate it to ${joinNames(nameservers)}. We try again with each check of the domain. Write to us if this takes longer than a day.`
    : `${name} is registered here, and we ask its registry to delegate it to ${joinNames(nameservers)}. You need not do anything. If this takes longer than a day, write to us.`;
}

/**
 * Why a name is not in the DNS of its parent, as far as this is known, and what to do. `registration` is the
 * registration through us.
 */
function absentMessage(domain: Delegated): string {
  const { name, registration } = domain;
  if (!registration) {
    return `${name} is not in the DNS of its parent: it is not registered, has no nameservers, or is on hold. Register it or end the hold, and then delegate it.`;
  }
  // RFC 5731 §2.3: a name with one of these statuses is not published in the DNS.
  const holds = registration.registrar_status.filter((status) => status === "clientHold" || status === "serverHold");
  return holds.length > 0
    ? `${name} is registered, but on hold (${joinNames(holds)}), so it is not in the DNS. Confirm the registrar's e-mail to the contact of the name, if there is one. Otherwise write to us.`
    : remedyOf(domain, `The registry does not delegate ${name} at present.`);
}

/** Asks the parent zone whether a name is delegated to exactly the domain's nameservers. */
async function delegationState(resolver: Resolver, domain: Delegated): Promise<DelegationState> {
  const { name, nameservers: expected, registration } = domain;
  const found = await resolver.delegation(name);
  if (found.status === "unknown") {
    const message = `The delegation could not be checked: ${found.reason}.`;
    return { verified: undefined, observed: [], fault: "not_checked", message };
  }
  if (found.status === "absent") {
    const fault = registration ? "not_delegated" : "not_registered";
    return { verified: false, observed: [], fault, message: absentMessage(domain) };
  }
  if (found.status === "none") {
    const message = remedyOf(domain, `${name} is not delegated. Set its nameservers to ${joinNames(expected)}.`);
    return { verified: false, observed: [], fault: "not_delegated", message };
  }
  const observed = [...found.nameservers];
  const missing = expected.filter((host) => !observed.includes(host));
  const unexpected = observed.filter((host) => !expected.includes(host));
  if (missing.length === 0 && unexpected.length === 0)
    return { verified: true, observed, fault: null, message: "The domain is delegated to us." };
  const steps = [
    ...(missing.length === 0 ? [] : [`add ${joinNames(missing)}`]),
    ...(unexpected.length === 0 ? [] : [`remove ${joinNames(unexpected)}`]),
  ];
  const message = remedyOf(domain, `At the registrar of ${name}, ${steps.join(" and ")}.`);
  return { verified: false, observed, fault: "other_nameservers", message };
}

const prefix = "hosted-mail-verification=";

/** The TXT record that proves a name without a delegation. Its value belongs to this account and this name alone. */
export function proofRecord({ account_id, name }: Pick<StoredDomain, "account_id" | "name">): ParsedRecord {
  const token = hash("sha256", `${account_id} ${name}`).slice(0, 32);
  return { name: "_hosted-mail", type: "TXT", value: `${prefix}${token}`, ttl: 3_600 };
}

/** Why a name is not proved. */
export const ProofFault = z.enum([...delegationFaults, "proof_missing", "proof_of_another_account", "proof_is_alias"]);
type ProofFault = z.output<typeof ProofFault>;

/** The result of looking for the record that proves a name. */
type RecordState = {
  /** Whether the record is there; undefined if this could not be checked. */
  verified: boolean | undefined;
  /** The texts at the record's name. */
  observed: string[];
  fault: ProofFault | null;
  message: string;
};

/** Asks the public DNS for the record that proves a name. */
async function recordState(
  resolver: Resolver,
  domain: Pick<StoredDomain, "account_id" | "name">,
): Promise<RecordState> {
  const { name, value } = proofRecord(domain);
  const host = `${name}.${domain.name}`;
  const answer = await resolver.resolve(host, "TXT");
  if (answer.status === "unknown") {
    const message = `The record at ${host} could not be checked: ${answer.reason}.`;
    return { verified: undefined, observed: [], fault: "not_checked", message };
  }
  const records = answer.status === "found" ? answer.records : [];
  // If the records have another name, then `host` is an alias (CNAME) of this other name. Such texts prove nothing
  // about the owner of the domain. A wildcard record can make such an alias.
  const alias = records.find((record) => record.name !== host);
  if (alias) {
    const message = `${host} is an alias (CNAME) of ${alias.name}, so the records there prove nothing. Put a TXT record with the value ${value} at ${host} itself`;
    return { verified: false, observed: [], fault: "proof_is_alias", message };
  }
  const observed = records.flatMap((record) => (record.type === "TXT" ? [record.text.trim()] : []));
  if (observed.includes(value)) return { verified: true, observed, fault: null, message: "The name is proved." };
  if (observed.some((text) => text.startsWith(prefix))) {
    const message = `The TXT record at ${host} belongs to another account or another name. Replace its value by ${value}`;
    return { verified: false, observed, fault: "proof_of_another_account", message };
  }
  const message = `There is no proof at ${host}. Add a TXT record with the value ${value}`;
  return { verified: false, observed, fault: "proof_missing", message };
}

/** Whether the DNS proves that a name belongs to an account, and the findings in the DNS. */
export type ProofState = Pick<RecordState, "verified" | "fault" | "message"> & {
  /** Absent if a delegation is no proof for this domain. */
  delegation?: DelegationState;
  /** Absent if a record is no proof for this domain. */
  record?: RecordState;
};

type Proving = Delegated & Pick<StoredDomain, "account_id" | "dns_mode" | "handover">;

/**
 * Asks the public DNS whether a name is proved to belong to its account.
 * - The proof of a hosted domain is its delegation to the account's nameservers.
 * - The proof of an external domain is its TXT record. While our nameservers still serve the zone of the domain, the
 *   delegation to them is a proof too.
 */
export async function proofState(resolver: Resolver, domain: Proving): Promise<ProofState> {
  const { dns_mode, handover } = domain;
  if (dns_mode === "hosted") {
    const delegation = await delegationState(resolver, domain);
    return { ...delegation, delegation };
  }
  const [record, delegation] = await Promise.all([
    recordState(resolver, domain),
    handover === null ? undefined : delegationState(resolver, domain),
  ]);
  if (record.verified !== true && delegation?.verified === true) {
    const message = `The name is still delegated to us. Before you change the delegation, add the TXT record of \`dns_setup\`.`;
    return { verified: true, fault: null, message, record, delegation };
  }
  // If the record is missing and the delegation could not be checked, the delegation may still be a proof. Then the
  // result is that of the delegation, which is unknown. In all other cases, the result is that of the record.
  const isDelegationUnknown = delegation !== undefined && delegation.verified === undefined;
  const { verified, fault, message } = record.verified === false && isDelegationUnknown ? delegation : record;
  return { verified, fault, message, record, ...(delegation ? { delegation } : {}) };
}

/** The proof by which an account can take a name over now; undefined if there is none. */
export async function proofOfName(
  resolver: Resolver,
  domain: Delegated & Pick<StoredDomain, "account_id">,
): Promise<"delegation" | "record" | undefined> {
  const [delegation, record] = await Promise.all([delegationState(resolver, domain), recordState(resolver, domain)]);
  if (delegation.verified === true) return "delegation";
  return record.verified === true ? "record" : undefined;
}
