import { randomBytes } from "node:crypto";

import { Problem } from "../../core/errors.ts";
import { later, yearsAfter } from "../../core/time.ts";
import type { Table } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import {
  getName,
  newOperation,
  latestOperation,
  registeredNameKey,
  operationKey,
  stateAt,
  operationState,
  StoredOperation,
  type Elsewhere,
  type NameState,
} from "./embedded-names.ts";
import {
  renewalGraceMs,
  mostYears,
  redemptionMs,
  transferLockMs,
  Refused,
  type Contact,
  type Offer,
  type Registrar,
  type RegistrarOperation,
  type Registration,
  type Renewing,
  type TransferOffer,
  type Transferring,
} from "./registrar.ts";

/** The prices of a name for a year, in minor units of `registrarCurrency`. */
type Price = { registration: number; renewal: number };

/** The prices of the embedded registry, by top-level domain. */
export const prices: ReadonlyMap<string, Price> = new Map([
  ["com", { registration: 1_400, renewal: 1_400 }],
  ["net", { registration: 1_600, renewal: 1_600 }],
  ["org", { registration: 1_300, renewal: 1_500 }],
  ["io", { registration: 4_900, renewal: 5_900 }],
  ["dev", { registration: 1_500, renewal: 1_700 }],
  ["app", { registration: 1_700, renewal: 1_900 }],
  ["co", { registration: 2_500, renewal: 3_200 }],
  ["email", { registration: 2_400, renewal: 2_650 }],
  ["info", { registration: 999, renewal: 2_399 }],
  ["biz", { registration: 1_800, renewal: 2_100 }],
  ["me", { registration: 1_750, renewal: 2_250 }],
  ["de", { registration: 900, renewal: 900 }],
  ["com.au", { registration: 1_900, renewal: 1_900 }],
  ["co.uk", { registration: 925, renewal: 925 }],
  ["eu", { registration: 1_050, renewal: 1_050 }],
  ["xyz", { registration: 299, renewal: 1_399 }],
  ["shop", { registration: 299, renewal: 3_799 }],
  ["online", { registration: 299, renewal: 3_599 }],
]);

/** A premium name costs this many times the usual price. */
export const premiumFactor = 100;

/** The price of restoring a name in redemption, in minor units. */
export const restoreFee = 8_000;

/**
 * A label of letters, digits and hyphens, with no hyphen at an end; only A-labels have hyphens in the third and fourth
 * place (RFC 5891 §4.2.3.1).
 */
const label = /^(?!-)(?!(?!xn)..--)[a-z0-9-]{1,63}(?<!-)$/;

function partsOf(name: string): { first: string; tld: string } {
  const dot = name.indexOf(".");
  return dot < 0 ? { first: name, tld: "" } : { first: name.slice(0, dot), tld: name.slice(dot + 1) };
}

const registrarUnavailable = (): Problem =>
  new Problem("upstream_unavailable", "The registrar does not answer.", { retry_after: 2 });

/** The offer for a name in the state `current`. */
function offerOf(name: string, current: NameState): Offer {
  const { first, tld } = partsOf(name);
  const price = prices.get(tld);
  if (tld === "" || !label.test(first)) return { name, status: "invalid" };
  if (!price) return { name, status: "unsupported_tld" };
  if (current.status !== "free" || first.startsWith("taken-")) return { name, status: "unavailable" };
  if (first.startsWith("reserved-")) return { name, status: "reserved" };
  if (first.startsWith("silent-")) return { name, status: "unknown" };
  const { registration, renewal } = price;
  return first.startsWith("premium-") || first.length <= 3
    ? { name, status: "premium", price: premiumFactor * registration, renewalPrice: premiumFactor * renewal }
    : { name, status: "available", price: registration, renewalPrice: renewal };
}

const refusals: Record<Exclude<Offer["status"], "available" | "unknown">, string> = {
  premium: "Premium names cannot be registered here.",
  unavailable: "The name is registered already.",
  reserved: "The registry reserves this name.",
  unsupported_tld: "Names under this top-level domain cannot be registered here.",
  invalid: "This name is not valid.",
};

/** Throws when the registry refuses the name, or does not answer. */
function requireRegistrable(name: string, current: NameState): void {
  const { status } = offerOf(name, current);
  if (status === "unknown") throw registrarUnavailable();
  if (status !== "available") throw new Refused(refusals[status]);
  if (name.startsWith("refused-")) throw new Refused("The registry refuses this registration.");
}

const isAnswerLost = (name: string): boolean => name.startsWith("lost-");

async function register(
  table: Table,
  { name, contact }: { name: string; contact: Contact },
  now: Date,
): Promise<RegistrarOperation> {
  const { operation, isNew } = await table.commit(async () => {
    const stored = await getName(table, name);
    const current = stateAt(stored, now);
    // While the operation runs, a repeated request returns this operation. If the answer was lost, a repeated request
    // also returns the operation after its end.
    if (current.status === "running" || (current.status === "ours" && isAnswerLost(name))) {
      return { writes: [], value: { operation: current.name.operation, isNew: false } };
    }
    requireRegistrable(name, current);
    const { operation, write } = newOperation(name, "register", now);
    const held = {
      holder: "us",
      version: (stored?.version ?? 0) + 1,
      nameservers: [],
      operation,
      contact,
      auto_renew: false,
      expires_at: yearsAfter(new Date(operation.settles_at), 1).toISOString(),
    };
    const put = { ...registeredNameKey(name), ...held };
    const writes: Write[] = [{ put, if: stored ? { version: stored.version } : "absent" }, write];
    return { writes, value: { operation, isNew: true } };
  });
  if (isNew && isAnswerLost(name)) throw registrarUnavailable();
  return operationState(operation, now);
}

type Ours = Extract<NameState, { status: "ours" }>;

/** Throws `Refused` when the registry does not renew the name. */
function requireRenewal({ name, years, expiresAt, restore }: Renewing, current: Ours, now: Date): void {
  const end = current.expiresAt;
  if (name.startsWith("renewal-refused-")) throw new Refused("The registry refuses this renewal.");
  if (end.getUTCFullYear() !== new Date(expiresAt).getUTCFullYear()) {
    throw new Refused(`The registration ends at ${end.toISOString()}.`);
  }
  if (yearsAfter(end, years) > yearsAfter(now, mostYears)) {
    throw new Refused(`A name is registered for at most ${mostYears} years.`);
  }
  if ((current.phase === "redemption") === restore) return;
  throw new Refused(restore ? "The name needs no restoration." : "The name has to be restored.");
}

async function renew(table: Table, input: Renewing, now: Date): Promise<RegistrarOperation> {
  const { name, years } = input;
  if (name.startsWith("renewal-silent-")) throw registrarUnavailable();
  const { operation, isNew } = await table.commit(async () => {
    const current = stateAt(await getName(table, name), now);
    if (current.status !== "ours") throw new Refused("The name is not registered here.");
    const { version, renewal } = current.name;
    if (renewal && operationState(renewal.operation, now).state === "running") {
      return { writes: [], value: { operation: renewal.operation, isNew: false } };
    }
    requireRenewal(input, current, now);
    const { operation, write } = newOperation(name, "renew", now);
    const set = {
      version: version + 1,
      auto_renew: false,
      expires_at: current.expiresAt.toISOString(),
      renewal: { operation, years },
    };
    const writes: Write[] = [{ update: registeredNameKey(name), set, if: { version } }, write];
    return { writes, value: { operation, isNew: true } };
  });
  if (isNew && isAnswerLost(name)) throw registrarUnavailable();
  return operationState(operation, now);
}

const isTransferSilent = (name: string): boolean => /^(?:transfer-)?silent-/.test(name);

/**
 * The end of a registration after its transfer from another registrar to us. The transfer adds a year. If no end is
 * stored, the registration counts as one that would end in a year.
 */
const transferredUntil = ({ expires_at }: Elsewhere, now: Date): Date =>
  yearsAfter(new Date(expires_at ?? yearsAfter(now, 1)), 1);

/** The offer to transfer a name in the state `current` to us. */
function transferOfferOf(name: string, authCode: string, current: NameState, now: Date): TransferOffer {
  const { first, tld } = partsOf(name);
  const price = prices.get(tld)?.renewal;
  if (tld === "" || !label.test(first)) return { name, status: "invalid" };
  if (price === undefined) return { name, status: "unsupported_tld" };
  if (isTransferSilent(name)) return { name, status: "unknown" };
  if (current.status === "free") return { name, status: "not_registered" };
  if (current.status === "pending_delete") {
    return { name, status: "refused", reason: "The registry is deleting the name." };
  }
  if (current.status !== "elsewhere" || current.transfer) return { name, status: "ours" };
  const { auth_code, locked, registered_at = 0 } = current.elsewhere;
  if (auth_code !== authCode) return { name, status: "auth_code_wrong" };
  if (locked) return { name, status: "locked" };
  const transferableAt = later(new Date(registered_at), transferLockMs);
  if (transferableAt > now.toISOString()) return { name, status: "too_soon", transferableAt };
  if (transferredUntil(current.elsewhere, now) > yearsAfter(now, mostYears)) return { name, status: "too_many_years" };
  return { name, status: "transferable", price };
}

async function transfer(
  table: Table,
  { name, authCode, contact }: Transferring,
  now: Date,
): Promise<RegistrarOperation> {
  if (isTransferSilent(name)) throw registrarUnavailable();
  const { operation, isNew } = await table.commit(async () => {
    const stored = await getName(table, name);
    const current = stateAt(stored, now);
    const begun = current.status === "elsewhere" ? current.transfer : undefined;
    if (begun) return { writes: [], value: { operation: begun, isNew: false } };
    const { status } = transferOfferOf(name, authCode, current, now);
    if (status !== "transferable" || current.status !== "elsewhere" || !stored) {
      throw new Refused(`The registry refuses this transfer: the name is ${status.replaceAll("_", " ")}.`);
    }
    const { operation, write } = newOperation(name, "transfer", now);
    const held = {
      holder: "us",
      version: stored.version + 1,
      nameservers: stored.nameservers,
      operation,
      contact,
      auto_renew: false,
      expires_at: transferredUntil(current.elsewhere, now).toISOString(),
      elsewhere: current.elsewhere,
    };
    const writes: Write[] = [{ put: { ...registeredNameKey(name), ...held }, if: { version: stored.version } }, write];
    return { writes, value: { operation, isNew: true } };
  });
  if (isNew && isAnswerLost(name)) throw registrarUnavailable();
  return operationState(operation, now);
}

const eppStatuses: Record<Registration["phase"], readonly string[]> = {
  registered: [],
  grace: ["autoRenewPeriod"],
  redemption: ["redemptionPeriod", "pendingDelete"],
};

function registrationOf(current: NameState): Registration | undefined {
  if (current.status !== "ours") return undefined;
  const { expiresAt, phase } = current;
  const { auto_renew: autoRenew, nameservers, locked, privacy, operation, departure } = current.name;
  return {
    expiresAt: expiresAt.toISOString(),
    phase,
    graceEndsAt: later(expiresAt, renewalGraceMs),
    redemptionEndsAt: later(expiresAt, renewalGraceMs + redemptionMs),
    transferableAt: later(new Date(operation.settles_at), transferLockMs),
    statuses: [
      ...(locked ? ["clientTransferProhibited"] : []),
      ...(departure ? ["pendingTransfer"] : []),
      ...eppStatuses[phase],
    ],
    privacy,
    autoRenew,
    nameservers,
  };
}

/** Changes a name that is ours. Throws for a name that is not ours. */
function update(
  table: Table,
  name: string,
  now: Date,
  changes: (current: Ours) => Record<string, unknown>,
): Promise<void> {
  return table.commit(async () => {
    const current = stateAt(await getName(table, name), now);
    if (current.status !== "ours") throw new Error(`${name} is not registered through this registrar.`);
    const { version } = current.name;
    const set = { ...changes(current), version: version + 1 };
    return { writes: [{ update: registeredNameKey(name), set, if: { version } }], value: undefined };
  });
}

/**
 * Replaces the contact of a name of ours. The outcome of the operation is decided when the operation begins. If the
 * outcome is a success, the registry shows the new contact at once.
 */
async function setContact(table: Table, name: string, contact: Contact, now: Date): Promise<RegistrarOperation> {
  if (name.startsWith("contact-refused-")) throw new Refused("The registry refuses this contact.");
  return table.commit(async () => {
    const current = stateAt(await getName(table, name), now);
    if (current.status !== "ours") throw new Error(`${name} is not registered through this registrar.`);
    const { version } = current.name;
    const { operation, write } = newOperation(name, "contact", now);
    const set = { ...(operation.outcome === "failed" ? {} : { contact }), version: version + 1 };
    const writes: Write[] = [{ update: registeredNameKey(name), set, if: { version } }, write];
    return { writes, value: operationState(operation, now) };
  });
}

/** The auth code of a name of ours. A name keeps its code. */
function authCodeOf(table: Table, name: string, now: Date): Promise<string> {
  return table.commit(async () => {
    const current = stateAt(await getName(table, name), now);
    if (current.status !== "ours") throw new Error(`${name} is not registered through this registrar.`);
    const { version, auth_code } = current.name;
    if (auth_code !== undefined) return { writes: [], value: auth_code };
    const fresh = randomBytes(12).toString("base64url");
    const set = { auth_code: fresh, version: version + 1 };
    return { writes: [{ update: registeredNameKey(name), set, if: { version } }], value: fresh };
  });
}

function releaseName(table: Table, name: string, now: Date): Promise<void> {
  return table.commit(async () => {
    const current = stateAt(await getName(table, name), now);
    if (current.status !== "ours") return { writes: [], value: undefined };
    return { writes: [{ delete: registeredNameKey(name), if: { version: current.name.version } }], value: undefined };
  });
}

/**
 * A registry and registrar in the table. No money moves. The beginning of a name decides the result:
 * - `taken-`: unavailable; `reserved-`: reserved; `premium-`, and a first label of up to 3 characters: premium.
 * - `silent-`: the registry does not answer, and does not register or transfer the name.
 * - `refused-`: the registration is refused.
 * - `slow-`: a registration, a renewal and a change of the contact take 30 seconds. `fails-`: the registration fails
 *   after 30 seconds.
 * - `lost-`: registered, renewed and transferred, but the answer is lost; the registry answers when asked again.
 * - `renewal-silent-`: the registry does not answer to a renewal. `renewal-refused-`: a renewal is refused.
 *   `renewal-fails-`: a renewal fails after 30 seconds. The registration of these names succeeds at once.
 * - `transfer-silent-`: the registry does not answer to a transfer to us. `transfer-fails-`: a transfer to us fails
 *   after 30 seconds. `transfer-refused-`: the present registrar refuses a transfer to us after 30 seconds. A transfer
 *   of a `slow-` name, to us or away from us, takes 5 days. ICANN gives the present registrar this time to refuse a
 *   transfer.
 * - `contact-refused-`: a change of the contact is refused. `contact-fails-`: a change of the contact fails after 30
 *   seconds. The registration of these names succeeds at once.
 * - All other names are registered, renewed and transferred at once. A transfer costs as much as a renewal.
 *
 * After the end of its registration, a name is in grace for 30 days, in redemption for 30 days, and pending deletion
 * for 5 days.
 */
export const embeddedRegistrar = (table: Table, now: () => Date): Registrar => ({
  tlds: async () => [...prices.keys()],
  offer: async (name) => offerOf(name, stateAt(await getName(table, name), now())),
  fees: async (name) => {
    const price = prices.get(partsOf(name).tld);
    return price && { renewal: price.renewal, restore: restoreFee };
  },
  register: (input) => register(table, input, now()),
  renew: (input) => renew(table, input, now()),
  transferOffer: async (name, authCode) =>
    transferOfferOf(name, authCode, stateAt(await getName(table, name), now()), now()),
  transfer: (input) => transfer(table, input, now()),
  operation: async (id) => {
    const key = operationKey(id);
    const operation = key && (await table.get(key, StoredOperation));
    if (!operation) throw new Error("The operation does not exist.");
    return operationState(operation, now());
  },
  findOperation: async (name, since, kind) => {
    const operation = await latestOperation(table, name, since, kind);
    return operation && operationState(operation, now());
  },
  registration: async (name) => registrationOf(stateAt(await getName(table, name), now())),
  setNameservers: (name, nameservers) => update(table, name, now(), () => ({ nameservers })),
  setLock: (name, locked) => update(table, name, now(), () => ({ locked })),
  contact: async (name) => {
    const current = stateAt(await getName(table, name), now());
    return current.status === "ours" ? current.name.contact : undefined;
  },
  setContact: (name, contact) => setContact(table, name, contact, now()),
  authCode: (name) => authCodeOf(table, name, now()),
  setPrivacy: (name, privacy) => update(table, name, now(), () => ({ privacy })),
  stopAutoRenew: (name) =>
    update(table, name, now(), ({ name: { auto_renew }, expiresAt }) =>
      auto_renew ? { auto_renew: false, expires_at: expiresAt.toISOString() } : {},
    ),
  release: (name) => releaseName(table, name, now()),
});
