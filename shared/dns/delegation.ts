import type { Endpoint } from "../core/endpoint.ts";
import { isPublicUnicast } from "../core/ip.ts";
import type { Referral } from "./outcome.ts";
import { isWithin } from "./wire-name.ts";

/** A zone and where its servers are; `hosts` are those whose addresses have to be looked up first. */
export type Zone = { name: string; endpoints: readonly Endpoint[]; hosts: readonly string[] };

export type Places = {
  /** Nameservers with names within the suffix are at this endpoint, wherever it is: configured, so not doubted. */
  known: readonly { suffix: string; endpoint: Endpoint }[];
  /** Where an address that may be asked really leads. */
  route: (address: string) => Endpoint;
};

/** As many servers as the root has; more of a zone are not asked. */
const maxServers = 13;
/** Each name to look up is a question of its own: a referral can name many (NXNSAttack, CVE-2020-8616 and others). */
const maxHosts = 3;
const maxAddressesOfHost = 4;

/** IPv4 first, which every place we run at has. */
const byFamily = (addresses: readonly string[]): string[] =>
  addresses.toSorted((one, other) => Number(one.includes(":")) - Number(other.includes(":")));

/** Where these addresses lead; those that are not on the public internet are left out, so that no answer leads inside. */
export const publicEndpoints = (addresses: readonly string[], { route }: Places): Endpoint[] =>
  byFamily(addresses.filter(isPublicUnicast))
    .slice(0, maxAddressesOfHost)
    .map((address) => route(address));

function distinct(endpoints: readonly Endpoint[]): Endpoint[] {
  return [...new Map(endpoints.map((endpoint) => [`${endpoint.address} ${endpoint.port}`, endpoint])).values()];
}

/** The zone a referral leads to. A host inside of it without glue cannot be looked up: its address is in there. */
export function zoneOf({ zone: name, nameservers }: Referral, places: Places): Zone {
  const knownOf = (host: string): Endpoint | undefined =>
    places.known.find(({ suffix }) => isWithin(host, suffix))?.endpoint;
  const known = nameservers.flatMap(({ host }) => knownOf(host) ?? []);
  const others = nameservers.filter(({ host }) => !knownOf(host));
  const glued = byFamily(others.flatMap(({ glue }) => glue.filter(isPublicUnicast)));
  const hosts = others.filter(({ host, glue }) => glue.length === 0 && !isWithin(host, name)).map(({ host }) => host);
  return {
    name,
    endpoints: distinct([...known, ...glued.map(places.route)]).slice(0, maxServers),
    hosts: hosts.slice(0, maxHosts),
  };
}

/** The zones of top-level domains, kept for their TTL, an hour at most. */
export type ZoneCuts = {
  /** The lowest zone kept that has this name. */
  find: (name: string) => Zone | undefined;
  keep: (zone: Zone, ttlSeconds: number) => void;
  drop: (name: string) => void;
};

const maxKept = 500;
const longestMs = 3_600_000;

/**
 * Delegations of domains are not kept: who changes one wants to see at once what became of it, and asking their
 * registry is one query.
 */
export function openZoneCuts(nowMs: () => number): ZoneCuts {
  const kept = new Map<string, { zone: Zone; untilMs: number }>();
  return {
    find: (name) => {
      const found = kept.get(name.slice(name.lastIndexOf(".") + 1));
      return found && found.untilMs > nowMs() ? found.zone : undefined;
    },
    keep: (zone, ttlSeconds) => {
      if (zone.name.includes(".")) return;
      kept.delete(zone.name);
      const [oldest] = kept.keys();
      if (kept.size >= maxKept && oldest !== undefined) kept.delete(oldest);
      kept.set(zone.name, { zone, untilMs: nowMs() + Math.min(ttlSeconds * 1_000, longestMs) });
    },
    drop: (name) => kept.delete(name),
  };
}
