import type {
  DomainAvailability,
  DomainPrice,
  PriceWithCurrency,
  Transferable,
} from "@aws-sdk/client-route-53-domains";

import { minorUnits } from "../../core/money.ts";
import { clock } from "../../core/time.ts";
import { registrarCurrency, type Fees, type Offer, type Registrar, type TransferOffer } from "./registrar.ts";
import {
  callRegistrar,
  connectDomains,
  type Domains,
  codeOf,
  requireList,
  requireValue,
  sentenceOf,
} from "./route53-client.ts";
import { contact, setContact } from "./route53-contact.ts";
import { isOffered, latestOperation, operationOf, register, renew, transfer } from "./route53-operations.ts";
import {
  authCode,
  registration,
  deleteRegistration,
  setLock,
  setNameservers,
  setPrivacy,
  stopAutoRenew,
} from "./route53-registrations.ts";

export type Route53RegistrarOptions = {
  /**
   * The time limit of each attempt, in milliseconds. A registration, a renewal and a transfer have one attempt. Every
   * other call has up to three.
   */
  timeoutMs?: number;
  /** An origin instead of Route 53's, for tests. */
  endpoint?: string;
  now?: () => Date;
};

/**
 * How far Route 53's clock can be behind ours, rounding included, in milliseconds. A search for an operation begins
 * this much earlier, because Route 53 compares with the times of its own clock.
 */
const clockSkewMs = 5_000;

/**
 * Registers names at Amazon Route 53 Domains, in us-east-1. The AWS role needs the actions of route53domains that
 * `infra/cdk/constructs/permissions.ts` lists. For each name that it registers, Route 53 Domains also creates a hosted
 * zone. This zone is not used.
 */
export function route53Registrar({
  timeoutMs = 5_000,
  endpoint,
  now = clock,
}: Route53RegistrarOptions = {}): Registrar {
  let connection: Promise<Domains> | undefined;
  const connect = (): Promise<Domains> => (connection ??= connectDomains(timeoutMs, endpoint));
  const { tlds, offer, transferOffer, fees } = offers(connect, now);
  return {
    tlds: () => callRegistrar(tlds),
    offer: (name) => callRegistrar(() => offer(name)),
    fees: (name) => callRegistrar(() => fees(name)),
    register: (input) => callRegistrar(async () => register(await connect(), input)),
    renew: (input) => callRegistrar(async () => renew(await connect(), input)),
    transferOffer: (name, authCode) => callRegistrar(() => transferOffer(name, authCode)),
    transfer: (input) => callRegistrar(async () => transfer(await connect(), input)),
    operation: (id) =>
      callRegistrar(async () => {
        const { client, sdk } = await connect();
        return operationOf(await client.send(new sdk.GetOperationDetailCommand({ OperationId: id })));
      }),
    findOperation: (name, since, kind) =>
      callRegistrar(async () => latestOperation(await connect(), name, kind, new Date(since.getTime() - clockSkewMs))),
    registration: (name) => callRegistrar(async () => registration(await connect(), name, now())),
    setNameservers: (name, nameservers) =>
      callRegistrar(async () => setNameservers(await connect(), name, nameservers)),
    setLock: (name, locked) => callRegistrar(async () => setLock(await connect(), name, locked)),
    setPrivacy: (name, privacy) => callRegistrar(async () => setPrivacy(await connect(), name, privacy)),
    contact: (name) => callRegistrar(async () => contact(await connect(), name)),
    setContact: (name, given) => callRegistrar(async () => setContact(await connect(), name, given)),
    authCode: (name) => callRegistrar(async () => authCode(await connect(), name)),
    stopAutoRenew: (name) => callRegistrar(async () => stopAutoRenew(await connect(), name)),
    release: (name) => callRegistrar(async () => deleteRegistration(await connect(), name)),
  };
}

type Prices = Pick<Offer, "price" | "renewalPrice"> & { transferPrice?: number };

const statuses: Record<DomainAvailability, Offer["status"]> = {
  AVAILABLE: "available",
  AVAILABLE_PREORDER: "unavailable",
  AVAILABLE_RESERVED: "reserved",
  RESERVED: "reserved",
  UNAVAILABLE: "unavailable",
  UNAVAILABLE_PREMIUM: "premium",
  UNAVAILABLE_RESTRICTED: "reserved",
  INVALID_NAME_FOR_TLD: "invalid",
  DONT_KNOW: "unknown",
  PENDING: "unknown",
};

async function offerStatus({ client, sdk }: Domains, name: string): Promise<Offer["status"]> {
  try {
    const answer = await client.send(new sdk.CheckDomainAvailabilityCommand({ DomainName: name }));
    // A status that we do not know says nothing about the name.
    return statuses[requireValue(answer.Availability)] ?? "unknown";
  } catch (error) {
    const code = codeOf(error);
    if (code === "UnsupportedTLD") return "unsupported_tld";
    if (code === "InvalidInput") return "invalid";
    if (code === "TLDInMaintenance") return "unknown";
    throw error;
  }
}

type Transferability = Pick<TransferOffer, "status" | "reason">;

const transferStatuses: Partial<Record<Transferable, TransferOffer["status"]>> = {
  TRANSFERABLE: "transferable",
  DONT_KNOW: "unknown",
  DOMAIN_IN_OWN_ACCOUNT: "ours",
  PREMIUM_DOMAIN: "premium",
};

/**
 * Patterns that recognize why Route 53 refuses a transfer, each with our status for this reason. Route 53 has one code
 * for all refusals, so only the message, which is a text for people, tells the reason. The first pattern that matches
 * decides. If no pattern matches, the status is `refused`, with the message as the reason.
 */
const refusalPatterns: readonly [RegExp, TransferOffer["status"]][] = [
  [/not registered|is available/i, "not_registered"],
  [/\bauth/i, "auth_code_wrong"],
  [/\b60 days|recently/i, "too_soon"],
  [/TransferProhibited|\block/i, "locked"],
];

const inAnotherAccount =
  "The name is in another account of the same registrar. The owner of that account has to hand the name over.";

/** Whether Route 53 can transfer a name to our AWS account, with its reason for a refusal. */
async function transferability({ client, sdk }: Domains, name: string, authCode: string): Promise<Transferability> {
  try {
    const command = new sdk.CheckDomainTransferabilityCommand({ DomainName: name, AuthCode: authCode });
    const { Transferability, Message = "" } = await client.send(command);
    const transferable = requireValue(Transferability?.Transferable);
    if (transferable === "DOMAIN_IN_ANOTHER_ACCOUNT") return { status: "refused", reason: inAnotherAccount };
    if (transferable !== "UNTRANSFERABLE") return { status: transferStatuses[transferable] ?? "unknown" };
    const status = refusalPatterns.find(([pattern]) => pattern.test(Message))?.[1];
    return status ? { status } : { status: "refused", ...(Message === "" ? {} : { reason: sentenceOf(Message) }) };
  } catch (error) {
    const code = codeOf(error);
    if (code === "UnsupportedTLD") return { status: "unsupported_tld" };
    if (code === "InvalidInput") return { status: "invalid" };
    if (code === "TLDInMaintenance") return { status: "unknown" };
    throw error;
  }
}

/**
 * A price in minor units. Undefined if the price is in another currency, or has fractions of a cent, which we cannot
 * charge.
 */
function amountOf(price: PriceWithCurrency | undefined): number | undefined {
  return price?.Price === undefined || price.Currency !== registrarCurrency
    ? undefined
    : minorUnits(String(price.Price));
}

function pricesOf({ RegistrationPrice, RenewalPrice, TransferPrice }: DomainPrice): Prices {
  const [price, renewalPrice] = [amountOf(RegistrationPrice), amountOf(RenewalPrice)];
  const transferPrice = amountOf(TransferPrice);
  return {
    ...(price === undefined ? {} : { price }),
    ...(renewalPrice === undefined ? {} : { renewalPrice }),
    ...(transferPrice === undefined ? {} : { transferPrice }),
  };
}

/** A top-level domain as we write it: without a dot before it. */
const tldOf = (price: DomainPrice): string => requireValue(price.Name).replace(/^\./, "").toLowerCase();

/** The top-level domain of a name. */
const tldOfName = (name: string): string => name.slice(name.indexOf(".") + 1);

/** The prices of a top-level domain; undefined when Route 53 sells no names under this domain. */
async function askPrices({ client, sdk }: Domains, tld: string): Promise<Prices | undefined> {
  try {
    const { Prices: all } = await client.send(new sdk.ListPricesCommand({ Tld: tld }));
    const own = requireList(all).find((price) => tldOf(price) === tld);
    return own && pricesOf(own);
  } catch (error) {
    if (codeOf(error) === "UnsupportedTLD" || codeOf(error) === "InvalidInput") return undefined;
    throw error;
  }
}

async function askTlds({ client, sdk }: Domains): Promise<readonly string[]> {
  const found: string[] = [];
  let marker: string | undefined;
  do {
    const command = new sdk.ListPricesCommand({ MaxItems: 100, ...(marker === undefined ? {} : { Marker: marker }) });
    const { Prices: page, NextPageMarker } = await client.send(command);
    found.push(...requireList(page).map(tldOf));
    marker = NextPageMarker;
  } while (marker !== undefined);
  return found.filter(isOffered).toSorted();
}

const cacheMs = 3_600_000;

/** Caches the answer for each key for an hour, unless the answer is undefined or an error. */
function cached<T>(now: () => Date, ask: (key: string) => Promise<T | undefined>) {
  const known = new Map<string, { until: number; value: Promise<T | undefined> }>();
  return (key: string): Promise<T | undefined> => {
    const at = now().getTime();
    const entry = known.get(key);
    if (entry && at < entry.until) return entry.value;
    const value = ask(key);
    known.set(key, { until: at + cacheMs, value });
    const forget = (): void => {
      if (known.get(key)?.value === value) known.delete(key);
    };
    value.then((found) => {
      if (found === undefined) forget();
    }, forget);
    return value;
  };
}

/**
 * The offers of Route 53 Domains, and its top-level domains that `isOffered` allows. Prices and top-level domains are
 * at most an hour old.
 */
function offers(connect: () => Promise<Domains>, now: () => Date) {
  const prices = cached(now, async (tld) => askPrices(await connect(), tld));
  const tlds = cached(now, async () => askTlds(await connect()));
  return {
    /** The cache has one entry for the whole list, at the empty key. */
    tlds: async () => (await tlds("")) ?? [],
    /** Without a fee for restoring, because Route 53 has no call that restores a name. */
    fees: async (name: string): Promise<Fees | undefined> => {
      const renewal = (await prices(tldOfName(name)))?.renewalPrice;
      return renewal === undefined ? undefined : { renewal };
    },
    offer: async (name: string): Promise<Offer> => {
      if (!isOffered(tldOfName(name))) return { name, status: "unsupported_tld" };
      const [status, price] = await Promise.all([
        connect().then((domains) => offerStatus(domains, name)),
        prices(tldOfName(name)),
      ]);
      // The price list has no prices of premium names.
      if (status !== "available") return { name, status };
      const { transferPrice: _, ...forBuyers } = price ?? {};
      return { name, status, ...forBuyers };
    },
    transferOffer: async (name: string, authCode: string): Promise<TransferOffer> => {
      if (!isOffered(tldOfName(name))) return { name, status: "unsupported_tld" };
      const [found, price] = await Promise.all([
        connect().then((domains) => transferability(domains, name, authCode)),
        prices(tldOfName(name)),
      ]);
      const isPriced = found.status === "transferable" && price?.transferPrice !== undefined;
      return { name, ...found, ...(isPriced ? { price: price.transferPrice } : {}) };
    },
  };
}
