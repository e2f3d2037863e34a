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

/** A registration in progress or done. `reason` is a sentence for people, when it failed. */
export type RegistrarOperation = { id: string; state: "running" | "succeeded" | "failed"; reason?: string };

/** A name registered through us. `expiresAt` is RFC 3339. */
export type Registration = { expiresAt: string; locked: boolean; autoRenew: boolean; nameservers: readonly string[] };

/**
 * A registrar of domain names. Names are registrable domains as lower-case A-labels. A call that throws 503
 * `upstream_unavailable` may or may not have had its effect, so the caller has to find out.
 */
export type Registrar = {
  /** The top-level domains (public suffixes) under which names can be registered. */
  tlds: () => Promise<readonly string[]>;
  offer: (name: string) => Promise<Offer>;
  /**
   * Begins to register a name for one year. Throws `Refused` only when the name is certainly not registered and will
   * not be.
   */
  register: (input: { name: string; contact: Contact; autoRenew: boolean }) => Promise<RegistrarOperation>;
  /** The state of an operation. */
  operation: (id: string) => Promise<RegistrarOperation>;
  /**
   * The latest registration of a name that began at `since` or later, even if its answer was lost; undefined when there
   * is none.
   */
  findOperation: (name: string, since: Date) => Promise<RegistrarOperation | undefined>;
  /** The registration of a name through us; undefined when there is none. */
  registration: (name: string) => Promise<Registration | undefined>;
  setNameservers: (name: string, nameservers: readonly string[]) => Promise<void>;
  setAutoRenew: (name: string, autoRenew: boolean) => Promise<void>;
  /** Releases a name permanently; does nothing for a name that is not ours any more. */
  release: (name: string) => Promise<void>;
};

/** Thrown when the registrar refuses to register the name; the message is a sentence for people. */
export class Refused extends Error {}
