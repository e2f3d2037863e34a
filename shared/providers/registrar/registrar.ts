/** Who registers a name. `phone` is E.164, `country` ISO 3166-1 alpha-2. */
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
 * How a name can be had at this moment; prices are minor units of `currency` (shared/core/money.ts) for a year, there
 * when the status is `available` or `premium` and the registry tells them. `unknown`: the registry does not answer.
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
 * A registrar of domain names. A call that throws 503 `upstream_unavailable` may or may not have had its effect: ask.
 * Names are registrable domains as lower-case A-labels.
 */
export type Registrar = {
  /** The top-level domains (public suffixes) names can be registered under. */
  tlds: () => Promise<readonly string[]>;
  offer: (name: string) => Promise<Offer>;
  /** Begins to register a name for one year. Throws `Refused` when it is certain that it did not and will not. */
  register: (input: { name: string; contact: Contact; autoRenew: boolean }) => Promise<RegistrarOperation>;
  /** How an operation stands. */
  operation: (id: string) => Promise<RegistrarOperation>;
  /** The latest registration of a name that was begun at `since` or later, whoever lost its answer; undefined when there is none. */
  findOperation: (name: string, since: Date) => Promise<RegistrarOperation | undefined>;
  /** A name that is registered through us; undefined when it is not. */
  registration: (name: string) => Promise<Registration | undefined>;
  setNameservers: (name: string, nameservers: readonly string[]) => Promise<void>;
  setAutoRenew: (name: string, autoRenew: boolean) => Promise<void>;
  /** Gives a name back for good; one that is not ours any more is fine. */
  release: (name: string) => Promise<void>;
};

/** The registrar will not register the name; the message is a sentence for people. */
export class Refused extends Error {}
