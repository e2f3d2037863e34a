import { randomBytes } from "node:crypto";

import { Problem } from "../../core/errors.ts";
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
  yearsAfter,
  type Standing,
} from "./embedded-names.ts";
import { Refused, type Offer, type Registrar, type RegistrarOperation } from "./registrar.ts";

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
function newOperation(name: string, now: Date): StoredOperation {
  const isSlow = name.startsWith("slow-") || name.startsWith("fails-");
  return {
    id: operationId(name, now, randomBytes(8).toString("hex")),
    settles_at: new Date(now.getTime() + (isSlow ? slowMs : 0)).toISOString(),
    outcome: name.startsWith("fails-") ? "failed" : "succeeded",
  };
}

async function register(table: Table, name: string, autoRenew: boolean, now: Date): Promise<RegistrarOperation> {
  const isLost = name.startsWith("lost-");
  const { operation, isNew } = await table.commit(async () => {
    const stored = await getName(table, name);
    const standing = standingOf(stored, now);
    if (standing.status === "running" || (standing.status === "ours" && isLost)) {
      return { writes: [], value: { operation: standing.name.operation, isNew: false } };
    }
    refuse(name, standing);
    const operation = newOperation(name, now);
    const key = operationKey(operation.id);
    if (!key) throw new Error(`An operation for ${name} has no key.`);
    const held = {
      holder: "us",
      version: (stored?.version ?? 0) + 1,
      nameservers: [],
      operation,
      auto_renew: autoRenew,
      expires_at: yearsAfter(new Date(operation.settles_at), 1).toISOString(),
    };
    const writes: Write[] = [
      { put: { ...registeredNameKey(name), ...held }, if: stored ? { version: stored.version } : "absent" },
      { put: { ...key, ...operation }, if: "absent" },
    ];
    return { writes, value: { operation, isNew: true } };
  });
  if (isNew && isLost) throw registrarUnavailable();
  return operationState(operation, now);
}

/** Changes a name that is ours. Throws for a name that is not. */
function update(
  table: Table,
  name: string,
  now: Date,
  changes: (standing: Extract<Standing, { status: "ours" }>) => Record<string, unknown>,
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
 * - `slow-`: registered after 30 seconds; `fails-`: fails after 30 seconds.
 * - `lost-`: registered, but the answer is lost; the registry answers when asked again.
 * - All other names are registered at once.
 */
export const embeddedRegistrar = (table: Table, now: () => Date): Registrar => ({
  tlds: async () => [...prices.keys()],
  offer: async (name) => offerOf(name, standingOf(await getName(table, name), now())),
  register: ({ name, autoRenew }) => register(table, name, autoRenew, now()),
  operation: async (id) => {
    const key = operationKey(id);
    const operation = key && (await table.get(key, StoredOperation));
    if (!operation) throw new Error("The operation does not exist.");
    return operationState(operation, now());
  },
  findOperation: async (name, since) => {
    const operation = await latestOperation(table, name, since);
    return operation && operationState(operation, now());
  },
  registration: async (name) => {
    const standing = standingOf(await getName(table, name), now());
    if (standing.status !== "ours") return undefined;
    const { auto_renew: autoRenew, nameservers } = standing.name;
    return { expiresAt: standing.expiresAt.toISOString(), locked: true, autoRenew, nameservers };
  },
  setNameservers: (name, nameservers) => update(table, name, now(), () => ({ nameservers })),
  setAutoRenew: (name, autoRenew) =>
    update(table, name, now(), ({ expiresAt }) => ({ auto_renew: autoRenew, expires_at: expiresAt.toISOString() })),
  release: (name) => releaseName(table, name, now()),
});
