import { randomBytes } from "node:crypto";

import { Problem } from "../../core/errors.ts";
import { later, yearsAfter } from "../../core/time.ts";
import type { Table } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import {
  getName,
  latestOperation,
  registeredNameKey,
  operationId,
  operationKey,
  standingOf,
  operationState,
  StoredOperation,
  type Standing,
} from "./embedded-names.ts";
import {
  renewalGraceMs,
  mostYears,
  redemptionMs,
  Refused,
  type OperationKind,
  type Offer,
  type Registrar,
  type RegistrarOperation,
  type Registration,
  type Renewing,
} from "./registrar.ts";

/** The prices of a name for a year, in minor units of `currency` (shared/core/money.ts). */
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

const slowMs = 30_000;

/**
 * A label of letters, digits and hyphens, with no hyphen at an end; only A-labels have two in the middle (RFC 5891
 * §4.2.3.1).
 */
const label = /^(?!-)(?!(?!xn)..--)[a-z0-9-]{1,63}(?<!-)$/;

function partsOf(name: string): { first: string; tld: string } {
  const dot = name.indexOf(".");
  return dot < 0 ? { first: name, tld: "" } : { first: name.slice(0, dot), tld: name.slice(dot + 1) };
}

const registrarUnavailable = (): Problem =>
  new Problem("upstream_unavailable", "The registrar does not answer.", { retry_after: 2 });

/** The offer for a name, given its holder. */
function offerOf(name: string, standing: Standing): Offer {
  const { first, tld } = partsOf(name);
  const price = prices.get(tld);
  if (tld === "" || !label.test(first)) return { name, status: "invalid" };
  if (!price) return { name, status: "unsupported_tld" };
  if (standing.status !== "free" || first.startsWith("taken-")) return { name, status: "unavailable" };
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
function refuse(name: string, standing: Standing): void {
  const { status } = offerOf(name, standing);
  if (status === "unknown") throw registrarUnavailable();
  if (status !== "available") throw new Refused(refusals[status]);
  if (name.startsWith("refused-")) throw new Refused("The registry refuses this registration.");
}

/** A new operation. The beginning of the name decides how it ends. */
function newOperation(name: string, kind: OperationKind, now: Date): { operation: StoredOperation; write: Write } {
  const fails = name.startsWith(kind === "register" ? "fails-" : "renewal-fails-");
  const operation: StoredOperation = {
    id: operationId(name, now, randomBytes(8).toString("hex")),
    kind,
    settles_at: later(now, fails || name.startsWith("slow-") ? slowMs : 0),
    outcome: fails ? "failed" : "succeeded",
  };
  const key = operationKey(operation.id);
  if (!key) throw new Error(`An operation for ${name} has no key.`);
  return { operation, write: { put: { ...key, ...operation }, if: "absent" } };
}

const isLost = (name: string): boolean => name.startsWith("lost-");

async function register(table: Table, name: string, now: Date): Promise<RegistrarOperation> {
  const { operation, isNew } = await table.commit(async () => {
    const stored = await getName(table, name);
    const standing = standingOf(stored, now);
    if (standing.status === "running" || (standing.status === "ours" && isLost(name))) {
      return { writes: [], value: { operation: standing.name.operation, isNew: false } };
    }
    refuse(name, standing);
    const { operation, write } = newOperation(name, "register", now);
    const held = {
      holder: "us",
      version: (stored?.version ?? 0) + 1,
      nameservers: [],
      operation,
      auto_renew: false,
      expires_at: yearsAfter(new Date(operation.settles_at), 1).toISOString(),
    };
    const put = { ...registeredNameKey(name), ...held };
    const writes: Write[] = [{ put, if: stored ? { version: stored.version } : "absent" }, write];
    return { writes, value: { operation, isNew: true } };
  });
  if (isNew && isLost(name)) throw registrarUnavailable();
  return operationState(operation, now);
}

type Ours = Extract<Standing, { status: "ours" }>;

/** Throws `Refused` when the registry does not renew the name. */
function refuseRenewal({ name, years, expiresAt, restore }: Renewing, standing: Ours, now: Date): void {
  const end = standing.expiresAt;
  if (name.startsWith("renewal-refused-")) throw new Refused("The registry refuses this renewal.");
  if (end.getUTCFullYear() !== new Date(expiresAt).getUTCFullYear()) {
    throw new Refused(`The registration ends at ${end.toISOString()}.`);
  }
  if (yearsAfter(end, years) > yearsAfter(now, mostYears)) {
    throw new Refused(`A name is registered for at most ${mostYears} years.`);
  }
  if ((standing.phase === "redemption") === restore) return;
  throw new Refused(restore ? "The name needs no restoration." : "The name has to be restored.");
}

async function renew(table: Table, input: Renewing, now: Date): Promise<RegistrarOperation> {
  const { name, years } = input;
  if (name.startsWith("renewal-silent-")) throw registrarUnavailable();
  const { operation, isNew } = await table.commit(async () => {
    const standing = standingOf(await getName(table, name), now);
    if (standing.status !== "ours") throw new Refused("The name is not registered here.");
    const { version, renewal } = standing.name;
    if (renewal && operationState(renewal.operation, now).state === "running") {
      return { writes: [], value: { operation: renewal.operation, isNew: false } };
    }
    refuseRenewal(input, standing, now);
    const { operation, write } = newOperation(name, "renew", now);
    const set = {
      version: version + 1,
      auto_renew: false,
      expires_at: standing.expiresAt.toISOString(),
      renewal: { operation, years },
    };
    const writes: Write[] = [{ update: registeredNameKey(name), set, if: { version } }, write];
    return { writes, value: { operation, isNew: true } };
  });
  if (isNew && isLost(name)) throw registrarUnavailable();
  return operationState(operation, now);
}

const eppStatuses: Record<Registration["phase"], readonly string[]> = {
  registered: ["clientTransferProhibited"],
  grace: ["clientTransferProhibited", "autoRenewPeriod"],
  redemption: ["clientTransferProhibited", "redemptionPeriod", "pendingDelete"],
};

function registrationOf(standing: Standing): Registration | undefined {
  if (standing.status !== "ours") return undefined;
  const { expiresAt, phase } = standing;
  const { auto_renew: autoRenew, nameservers } = standing.name;
  return {
    expiresAt: expiresAt.toISOString(),
    phase,
    graceEndsAt: later(expiresAt, renewalGraceMs),
    redemptionEndsAt: later(expiresAt, renewalGraceMs + redemptionMs),
    statuses: eppStatuses[phase],
    autoRenew,
    nameservers,
  };
}

/** Changes a name that is ours. Throws for a name that is not. */
function update(
  table: Table,
  name: string,
  now: Date,
  changes: (standing: Ours) => Record<string, unknown>,
): Promise<void> {
  return table.commit(async () => {
    const standing = standingOf(await getName(table, name), now);
    if (standing.status !== "ours") throw new Error(`${name} is not registered through this registrar.`);
    const { version } = standing.name;
    const set = { ...changes(standing), version: version + 1 };
    return { writes: [{ update: registeredNameKey(name), set, if: { version } }], value: undefined };
  });
}

function releaseName(table: Table, name: string, now: Date): Promise<void> {
  return table.commit(async () => {
    const standing = standingOf(await getName(table, name), now);
    if (standing.status !== "ours") return { writes: [], value: undefined };
    return { writes: [{ delete: registeredNameKey(name), if: { version: standing.name.version } }], value: undefined };
  });
}

/**
 * A registry and registrar in the table. No money moves. The beginning of a name decides the result:
 * - `taken-`: unavailable; `reserved-`: reserved; `premium-`, and names of up to 3 characters: premium.
 * - `silent-`: the registry does not answer, and does not register the name.
 * - `refused-`: refused.
 * - `slow-`: registered and renewed after 30 seconds; `fails-`: the registration fails after 30 seconds.
 * - `lost-`: registered and renewed, but the answer is lost; the registry answers when asked again.
 * - `renewal-silent-`, `renewal-refused-`, `renewal-fails-`: registered at once; the same for the renewal.
 * - All other names are registered and renewed at once.
 *
 * After its end a name is in grace for 30 days, in redemption for 30 days, and pending deletion for 5 days.
 */
export const embeddedRegistrar = (table: Table, now: () => Date): Registrar => ({
  tlds: async () => [...prices.keys()],
  offer: async (name) => offerOf(name, standingOf(await getName(table, name), now())),
  fees: async (name) => {
    const price = prices.get(partsOf(name).tld);
    return price && { renewal: price.renewal, restore: restoreFee };
  },
  register: ({ name }) => register(table, name, now()),
  renew: (input) => renew(table, input, now()),
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
  registration: async (name) => registrationOf(standingOf(await getName(table, name), now())),
  setNameservers: (name, nameservers) => update(table, name, now(), () => ({ nameservers })),
  stopAutoRenew: (name) =>
    update(table, name, now(), ({ name: { auto_renew }, expiresAt }) =>
      auto_renew ? { auto_renew: false, expires_at: expiresAt.toISOString() } : {},
    ),
  release: (name) => releaseName(table, name, now()),
});
