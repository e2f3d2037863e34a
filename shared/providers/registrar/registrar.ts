import * as z from "zod";

import { defaultCurrency } from "../../core/money.ts";
import { dayMs } from "../../core/time.ts";

/** The currency in which registrars quote, and in which names are sold. */
export const registrarCurrency = defaultCurrency;

/**
 * The registrant of a name. `phone` is E.164, `country` ISO 3166-1 alpha-2. A person without a company has no
 * `organization`. The members have no rules, so that stored contacts remain readable when the rules for input change.
 */
export const Contact = z.object({
  first_name: z.string(),
  last_name: z.string(),
  organization: z.string().nullish(),
  email: z.string(),
  phone: z.string(),
  address_1: z.string(),
  address_2: z.string().nullish(),
  city: z.string(),
  state: z.string().nullish(),
  zip: z.string().nullish(),
  country: z.string(),
});
export type Contact = z.output<typeof Contact>;

/**
 * The offer for a name at this moment. Prices are for a year, in minor units of `registrarCurrency`. Only an
 * `available` or `premium` name has prices, and only if the registry gives them. `unknown`: the registry does not
 * answer.
 */
export type Offer = {
  name: string;
  status: "available" | "premium" | "unavailable" | "reserved" | "unsupported_tld" | "invalid" | "unknown";
  price?: number;
  renewalPrice?: number;
};

/**
 * The fees of a registrar for one of its names, in minor units of `registrarCurrency`. `renewal` is for each further
 * year, and `restore` for the restoration of a name in redemption. Without `restore`, the registrar cannot restore the
 * name.
 */
export type Fees = { renewal: number; restore?: number };

/**
 * Whether a name that another registrar has can be transferred to us at this moment.
 * - `transferable`: `price` is in minor units of `registrarCurrency`, and includes a further year. `price` is absent if
 *   the registry gives no price.
 * - `too_soon`: the name can be transferred from `transferableAt` on (RFC 3339), if the registry gives this time.
 * - `refused`: `reason` says why, as a text for people. `reason` is absent if the registrar gives none.
 * - `ours`: we have the name, or are registering or transferring it.
 * - `unknown`: the registry does not answer.
 */
export type TransferOffer = {
  name: string;
  status:
    | "transferable"
    | "auth_code_wrong"
    | "locked"
    | "too_soon"
    | "too_many_years"
    | "refused"
    | "premium"
    | "not_registered"
    | "ours"
    | "unsupported_tld"
    | "invalid"
    | "unknown";
  price?: number;
  transferableAt?: string;
  reason?: string;
};

/**
 * A transfer of a name to us. `authCode` is the secret that the present registrar gave to the name's owner (RFC 5731
 * §2.6).
 */
export type Transferring = { name: string; authCode: string; contact: Contact };

/**
 * An operation of the registrar on a name. The operation is running or over. `reason` says why a `failed` operation
 * failed, as a text for people. `reason` may be absent.
 */
export type RegistrarOperation = { id: string; state: "running" | "succeeded" | "failed"; reason?: string };
/**
 * The kinds of operations that `findOperation` finds. Another registrar begins a `transfer_out`, which transfers a name
 * of ours to that registrar.
 */
export type OperationKind = "register" | "renew" | "transfer" | "transfer_out";

/**
 * The registration of a name through us. Times are RFC 3339.
 * - `registered`: until `expiresAt`.
 * - `grace`: from `expiresAt` until `graceEndsAt`. The name works, and is renewed at the usual price.
 * - `redemption`: from `graceEndsAt` until `redemptionEndsAt`. The name is not delegated, and a renewal also restores
 *   the name.
 */
export type Registration = {
  expiresAt: string;
  phase: "registered" | "grace" | "redemption";
  graceEndsAt: string;
  redemptionEndsAt: string;
  /** When the name can be transferred to another registrar: 60 days after its registration or last transfer (ICANN). */
  transferableAt: string;
  /** EPP statuses (RFC 5731, RFC 3915), such as `clientTransferProhibited`. */
  statuses: readonly string[];
  /** Whether the registry's public data hide the contact. */
  privacy: boolean;
  /** Whether the registrar renews the name automatically. */
  autoRenew: boolean;
  nameservers: readonly string[];
};

/** Whether a name is locked against transfer. */
export const isLocked = ({ statuses }: Pick<Registration, "statuses">): boolean =>
  statuses.includes("clientTransferProhibited");

/** How long the grace of a name lasts, in milliseconds (ICANN's ERRP). Most registries have this time. */
export const renewalGraceMs = 30 * dayMs;
/** How long the redemption of a name lasts, in milliseconds (ICANN's ERRP). Most registries have this time. */
export const redemptionMs = 30 * dayMs;

/**
 * How long a name cannot be transferred after its registration or its last transfer, in milliseconds (ICANN's Transfer
 * Policy).
 */
export const transferLockMs = 60 * dayMs;

/** The longest time that a registration can have left, in years. Most registries have this limit. */
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
   * Begins to register a name for one year, without automatic renewal by the registrar. Throws `Refused` only if this
   * request certainly registers nothing.
   */
  register: (input: { name: string; contact: Contact }) => Promise<RegistrarOperation>;
  /**
   * Begins to renew a name. Renews only a registration that ends in the year of `expiresAt`. So a repeated request
   * renews the name only once. `restore` says whether to pay for the restoration of a name in redemption. Throws
   * `Refused` only if this request certainly renews nothing.
   */
  renew: (input: Renewing) => Promise<RegistrarOperation>;
  /** Whether a name can be transferred to us with an auth code. */
  transferOffer: (name: string, authCode: string) => Promise<TransferOffer>;
  /**
   * Begins to transfer a name to us, which can take days. The transfer adds a year to the registration, and keeps the
   * nameservers. Throws `Refused` only if this request certainly transfers nothing.
   */
  transfer: (input: Transferring) => Promise<RegistrarOperation>;
  /** The state of an operation. */
  operation: (id: string) => Promise<RegistrarOperation>;
  /**
   * The latest operation of a kind for a name, even if the answer to its request was lost. Undefined if no such
   * operation began at `since` or later.
   */
  findOperation: (name: string, since: Date, kind: OperationKind) => Promise<RegistrarOperation | undefined>;
  /** The registration of a name through us; undefined when there is none. */
  registration: (name: string) => Promise<Registration | undefined>;
  /** Asks the registry to delegate a name to these nameservers. Throws `Refused` if it refuses them. */
  setNameservers: (name: string, nameservers: readonly string[]) => Promise<void>;
  /** Locks a name against transfer, or unlocks it. Does nothing if the registry has no such lock. */
  setLock: (name: string, locked: boolean) => Promise<void>;
  /**
   * Hides the contact in the registry's public data, or shows it. Does nothing if the registry decides whether the
   * contact is hidden.
   */
  setPrivacy: (name: string, privacy: boolean) => Promise<void>;
  /** The contact of a name that is registered through us; undefined when the registrar has none. */
  contact: (name: string) => Promise<Contact | undefined>;
  /** Begins to replace the contact of a name. Throws `Refused` when the registrar refuses the new contact. */
  setContact: (name: string, contact: Contact) => Promise<RegistrarOperation>;
  /** The code by which another registrar transfers a name. It is a secret. Throws `Refused` if the name has none. */
  authCode: (name: string) => Promise<string>;
  /** Stops the automatic renewal of a name by the registrar. */
  stopAutoRenew: (name: string) => Promise<void>;
  /**
   * Releases a name permanently. Does nothing for a name that is not ours any more. If the registry does not allow
   * this, the name stays ours until its registration ends, and is not renewed.
   */
  release: (name: string) => Promise<void>;
};

export type Renewing = { name: string; years: number; expiresAt: string; restore: boolean };

/** Thrown when the registrar refuses a request. The message is a text for people. */
export class Refused extends Error {}
