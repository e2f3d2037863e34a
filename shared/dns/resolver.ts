import type { Endpoint } from "../core/endpoint.ts";
import type { DnsAnswer, Delegation, ZoneResolver } from "./answer.ts";
import { openBudget, type Budget } from "./budget.ts";
import { openSharedCuts, openZoneCuts, zoneOf, type ZoneCache } from "./delegation.ts";
import type { Fault } from "./outcome.ts";
import { transferZone, type ZoneTransfer } from "./transfer.ts";
import type { Question } from "./transport.ts";
import { type ResolverState, serversOf, type Walk, walkDown } from "./walk.ts";
import { isWithin, wireName } from "./wire-name.ts";

/** The IPv4 addresses of the root servers a to m (https://www.iana.org/domains/root/servers). */
const ianaRoots: readonly Endpoint[] = [
  "198.41.0.4",
  "170.247.170.2",
  "192.33.4.12",
  "199.7.91.13",
  "192.203.230.10",
  "192.5.5.241",
  "192.112.36.4",
  "198.97.190.53",
  "192.36.148.17",
  "192.58.128.30",
  "193.0.14.129",
  "199.7.83.42",
  "202.12.27.33",
].map((address) => ({ address, port: 53 }));

export type ResolverOptions = {
  /** The root's nameservers; IANA's by default. */
  roots?: readonly Endpoint[];
  /** Nameservers whose names are within `suffix` are reached at `endpoint`, which is trusted and need not be public. */
  known?: readonly { suffix: string; endpoint: Endpoint }[];
  /** For tests: the endpoint to ask instead of a public address that the DNS gave. */
  route?: (address: string) => Endpoint;
  /** How long one question may take, with all its servers and retries, in milliseconds. */
  timeoutMs?: number;
  /** How long one server may take for one message, in milliseconds. */
  tryTimeoutMs?: number;
  /** How many messages one question may send. */
  maxQueries?: number;
  /** The clock for the age of cached delegations, in milliseconds. */
  nowMs?: () => number;
};

const maxAliases = 8;

function faultReason(zone: string, fault: Fault): string {
  const servers = zone === "" ? "the nameservers of the root" : `the nameservers of ${zone}`;
  const reasons: Record<Fault, string> = {
    unreachable: `${servers} have no address that can be queried`,
    silent: `${servers} do not answer`,
    garbled: `${servers} give an answer that cannot be read`,
    lame: `${servers} do not know the zone`,
    refusing: `${servers} refuse to answer`,
    failing: `${servers} answer with an error`,
    "out of time": `${servers} do not answer in time`,
    "out of queries": "it takes too many DNS queries",
  };
  return reasons[fault];
}

const unknown = (reason: string): { status: "unknown"; reason: string } => ({ status: "unknown", reason });

/** Answers a question. Follows CNAME records to the end of their chain. */
async function follow(question: Question, walk: Walk): Promise<DnsAnswer> {
  const seen = new Set<string>();
  let { name } = question;
  while (seen.size <= maxAliases) {
    seen.add(name);
    const { zone, outcome } = await walkDown({ ...question, name }, walk);
    switch (outcome.kind) {
      case "found":
        return { status: "found", records: outcome.records };
      case "alias":
        if (seen.has(outcome.target)) return unknown("its CNAME records lead in a circle");
        name = outcome.target;
        break;
      case "useless":
        return unknown(faultReason(zone, outcome.fault));
      case "referral":
        return unknown(faultReason(zone, "lame"));
      default:
        return { status: outcome.kind };
    }
  }
  return unknown(`its chain has more than ${maxAliases} CNAME records`);
}

const delegated = (hosts: readonly string[]): Delegation => ({
  status: "delegated",
  nameservers: [...new Set(hosts)].toSorted(),
});

/** Asks for the nameservers of a name, and stops at the parent's referral. The name's own servers are not asked. */
const walkToCut = (name: string, walk: Walk) => walkDown({ name, type: "NS" }, walk, (zone) => zone === name);

async function delegationOf(name: string, walk: Walk): Promise<Delegation> {
  const { zone, outcome } = await walkToCut(name, walk);
  switch (outcome.kind) {
    case "referral":
      return delegated(outcome.referral.nameservers.map(({ host }) => host));
    case "found":
      return delegated(outcome.records.flatMap((found) => ("host" in found ? [found.host] : [])));
    case "alias":
      return { status: "none" };
    case "useless":
      return unknown(faultReason(zone, outcome.fault));
    default:
      return { status: outcome.kind };
  }
}

/** The delegation inside the zone `parent` to which a name belongs, as `ZoneResolver.cut` describes it. */
async function cutOf(name: string, parent: string, walk: Walk): ReturnType<ZoneResolver["cut"]> {
  const isBelow = (zone: string): boolean => zone !== parent && isWithin(zone, parent);
  const { zone, outcome } = await walkDown({ name, type: "NS" }, walk, isBelow);
  switch (outcome.kind) {
    case "referral": {
      const { zone: cut, ttl, nameservers } = outcome.referral;
      return { status: "found", records: nameservers.map(({ host }) => ({ name: cut, type: "NS", ttl, host })) };
    }
    case "found":
      return { status: "found", records: outcome.records };
    case "useless":
      return unknown(faultReason(zone, outcome.fault));
    default:
      return { status: outcome.kind };
  }
}

/** The limits of one transfer. The nameservers of a customer's former provider are not trusted. */
const transferLimits = { timeoutMs: 3_000, maxBytes: 4_194_304, maxRecords: 10_000 };

async function transferOf(name: string, walk: Walk): Promise<ZoneTransfer | undefined> {
  const { outcome } = await walkToCut(name, walk);
  if (outcome.kind !== "referral") return undefined;
  for await (const endpoint of serversOf(zoneOf(outcome.referral, walk.resolver.addressSettings), walk)) {
    if (!walk.budget.take()) return undefined;
    const timeoutMs = Math.min(transferLimits.timeoutMs, walk.budget.remainingMs());
    const found = await transferZone(endpoint, name, { ...transferLimits, timeoutMs });
    if (found) return found;
  }
  return undefined;
}

function suffixOf(text: string): string {
  const suffix = wireName(text);
  // The root as a suffix would make every nameserver a trusted one.
  if (suffix === undefined || suffix === "") throw new Error(`${text} is not a suffix of nameservers' names`);
  return suffix;
}

/**
 * Opens a resolver that asks from the root down (RFC 1034 §5.3.3), by UDP and TCP, and caches the delegations of
 * top-level domains.
 * - Only authoritative answers and referrals are used.
 * - Servers at addresses that are not public are not asked, except `roots` and `known`.
 * - If there is no usable answer within `timeoutMs` and `maxQueries`, the result is `unknown`. The result of `transfer`
 *   is then undefined.
 */
export function openResolver(options: ResolverOptions = {}): ZoneResolver {
  const { roots = ianaRoots, known = [], route = (address) => ({ address, port: 53 }) } = options;
  const { timeoutMs = 4_000, tryTimeoutMs = 800, maxQueries = 50, nowMs = () => performance.now() } = options;
  const trusted = known.map(({ suffix, endpoint }) => ({ suffix: suffixOf(suffix), endpoint }));
  const resolver: ResolverState = {
    root: { name: "", endpoints: roots, hosts: [] },
    addressSettings: { known: trusted, route },
    cuts: openZoneCuts(nowMs),
    tryTimeoutMs,
  };
  const cutsOf = new WeakMap<Budget, ZoneCache>();
  const sharedCuts = (within: Budget): ZoneCache => {
    const cuts = cutsOf.get(within) ?? openSharedCuts(resolver.cuts);
    cutsOf.set(within, cuts);
    return cuts;
  };
  const walk = (within?: Budget): Walk => ({
    resolver: within ? { ...resolver, cuts: sharedCuts(within) } : resolver,
    budget: openBudget(timeoutMs, maxQueries, within),
    lookups: [],
  });
  return {
    transfer: async (text) => {
      const name = wireName(text);
      return name === undefined || name === "" ? undefined : transferOf(name, walk());
    },
    cut: async (text, parent, within) => {
      const name = wireName(text);
      return name === undefined ? unknown("it is not a domain name") : cutOf(name, parent, walk(within));
    },
    resolve: async (text, type, within) => {
      const name = wireName(text);
      return name === undefined ? unknown("it is not a domain name") : follow({ name, type }, walk(within));
    },
    delegation: async (text) => {
      const name = wireName(text);
      return name === undefined || name === "" ? unknown("it is not a domain name") : delegationOf(name, walk());
    },
  };
}
