import { dayMs } from "../../core/time.ts";

/** The registrant of a name. `phone` is E.164, `country` ISO 3166-1 alpha-2. */
export type Contact = {
  first_name: string;
  last_name: string;
  organization: string;
  email: string;
  phone: string;
  address_1: string;
  city: string;
  state: string;
  zip: string;
  country: string;
};

/**
 * The offer for a name at this moment. Prices are for a year, in minor units of `currency` (shared/core/money.ts). Only
 * an `available` or `premium` name has prices, and only if the registry gives them. `unknown`: the registry does not
 * answer.
 */
export type Offer = {
  name: string;
  status: "available" | "premium" | "unavailable" | "reserved" | "unsupported_tld" | "invalid" | "unknown";
  price?: number;
  renewalPrice?: number;
};

/**
 * What a registrar charges for a name that it has, in minor units of `currency`: for each further year, and for the
 * restoration of a name in redemption. Without `restore`, the registrar cannot restore the name.
 */
export type Fees = { renewal: number; restore?: number };

/**
 * An operation in progress or done, which registers a name or renews it. `reason` is a sentence for people, when it
 * failed.
 */
export type RegistrarOperation = { id: string; state: "running" | "succeeded" | "failed"; reason?: string };
export type OperationKind = "register" | "renew";

/**
 * A name registered through us. Times are RFC 3339.
 * - `registered`: until `expiresAt`.
 * - `grace`: from then until `graceEndsAt`. The name works, and is renewed at the usual price.
 * - `redemption`: from then until `redemptionEndsAt`. The name is not delegated, and a renewal also restores it.
 */
export type Registration = {
  expiresAt: string;
  phase: "registered" | "grace" | "redemption";
  graceEndsAt: string;
  redemptionEndsAt: string;
  /** EPP statuses (RFC 5731, RFC 3915), such as `clientTransferProhibited`. */
  statuses: readonly string[];
  /** Whether the registrar renews the name by itself. */
  autoRenew: boolean;
  nameservers: readonly string[];
};

/** How long the grace and the redemption of a name last at most registries, in milliseconds (ICANN's ERRP). */
export const renewalGraceMs = 30 * dayMs;
export const redemptionMs = 30 * dayMs;

/** The most years for which a name can be registered at any moment, at most registries. */
export const mostYears = 10;

/**
 * A registrar of domain names. Names are registrable domains as lower-case A-labels. A call that throws 503
 * `upstream_unavailable` may or may not have had its effect, so the caller has to find out.
 */
export type Registrar = {
  /** The top-level domains (public suffixes) under which names can be registered. */
  tlds: () => Promise<readonly string[]>;
  offer: (name: string) => Promise<Offer>;
  /** The fees for a name; undefined if the registry gives none. */
  fees: (name: string) => Promise<Fees | undefined>;
  /**
   * Begins to register a name for one year. The registrar does not renew it by itself. Throws `Refused` only when the
   * name is certainly not registered and will not be.
   */
  register: (input: { name: string; contact: Contact }) => Promise<RegistrarOperation>;
  /**
   * Begins to renew a name whose registration ends in the year of `expiresAt`, so that a repeated request renews it
   * once. `restore` says whether the restoration of a name in redemption is paid. Throws `Refused` only when this
   * request certainly renews nothing.
   */
  renew: (input: Renewing) => Promise<RegistrarOperation>;
  /** The state of an operation. */
  operation: (id: string) => Promise<RegistrarOperation>;
  /**
   * The latest operation of a kind for a name that began at `since` or later, even if its answer was lost; undefined
   * when there is none.
   */
  findOperation: (name: string, since: Date, kind: OperationKind) => Promise<RegistrarOperation | undefined>;
  /** The registration of a name through us; undefined when there is none. */
  registration: (name: string) => Promise<Registration | undefined>;
  setNameservers: (name: string, nameservers: readonly string[]) => Promise<void>;
  /** Stops the registrar from renewing a name by itself. */
  stopAutoRenew: (name: string) => Promise<void>;
  /** Releases a name permanently; does nothing for a name that is not ours any more. */
  release: (name: string) => Promise<void>;
};

export type Renewing = { name: string; years: number; expiresAt: string; restore: boolean };

/** Thrown when the registrar refuses to register or renew the name; the message is a sentence for people. */
export class Refused extends Error {}
