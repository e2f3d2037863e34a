import type { Endpoint } from "../core/endpoint.ts";
import { isPublicUnicast } from "../core/ip.ts";
import type { Referral } from "./outcome.ts";
import { isWithin } from "./wire-name.ts";

/** A zone with the endpoints of its servers. `hosts` are the names of servers whose addresses are not known yet. */
export type Zone = { name: string; endpoints: readonly Endpoint[]; hosts: readonly string[] };

export type AddressSettings = {
  /** The configured endpoint of the nameservers whose names are within a suffix. The endpoint need not be public. */
  known: readonly { suffix: string; endpoint: Endpoint }[];
  /** The endpoint that serves an address. */
  route: (address: string) => Endpoint;
};

/** How many addresses of a zone's servers are taken from a referral at most: as many as the root has servers. */
const maxServers = 13;
/**
 * How many server names of a zone are looked up at most. Each name needs a separate question, and a referral can name
 * many servers (NXNSAttack, CVE-2020-8616 and others).
 */
const maxHosts = 3;
const maxAddressesOfHost = 4;

/** Sorts IPv4 addresses first, because every place that we run in has IPv4. */
const byFamily = (addresses: readonly string[]): string[] =>
  addresses.toSorted((one, other) => Number(one.includes(":")) - Number(other.includes(":")));

/**
 * The endpoints of at most four public addresses, IPv4 first. Addresses that are not on the public internet are left
 * out, so that no answer leads into our own network.
 */
export const publicEndpoints = (addresses: readonly string[], { route }: AddressSettings): Endpoint[] =>
  byFamily(addresses.filter(isPublicUnicast))
    .slice(0, maxAddressesOfHost)
    .map((address) => route(address));

function distinct(endpoints: readonly Endpoint[]): Endpoint[] {
  return [...new Map(endpoints.map((endpoint) => [`${endpoint.address} ${endpoint.port}`, endpoint])).values()];
}

/**
 * The zone that a referral leads to. A server without glue is left out if its name is in this zone, because only the
 * zone itself has the server's address.
 */
export function zoneOf({ zone: name, nameservers }: Referral, settings: AddressSettings): Zone {
  const knownOf = (host: string): Endpoint | undefined =>
    settings.known.find(({ suffix }) => isWithin(host, suffix))?.endpoint;
  const known = nameservers.flatMap(({ host }) => knownOf(host) ?? []);
  const others = nameservers.filter(({ host }) => !knownOf(host));
  const glued = byFamily(others.flatMap(({ glue }) => glue.filter(isPublicUnicast)));
  const hosts = others.filter(({ host, glue }) => glue.length === 0 && !isWithin(host, name)).map(({ host }) => host);
  return {
    name,
    endpoints: distinct([...known, ...glued.map(settings.route)]).slice(0, maxServers),
    hosts: hosts.slice(0, maxHosts),
  };
}

/** A cache of zones, each with the servers to which its delegation (the zone cut) leads. */
export type ZoneCache = {
  /** The cached zone that is nearest to a name. */
  find: (name: string) => Zone | undefined;
  keep: (zone: Zone, ttlSeconds: number) => void;
  drop: (name: string) => void;
};

const maxKept = 500;
const longestMs = 3_600_000;

/**
 * Opens a cache for the zones of top-level domains. Each zone is kept for its TTL, but for an hour at most. The cache
 * has room for 500 zones. Delegations of domains are not cached, because a customer who changes a delegation wants to
 * see the result at once. Asking the registry usually takes one query.
 */
export function openZoneCuts(nowMs: () => number): ZoneCache {
  const cachedZones = new Map<string, { zone: Zone; untilMs: number }>();
  return {
    find: (name) => {
      const found = cachedZones.get(name.slice(name.lastIndexOf(".") + 1));
      return found && found.untilMs > nowMs() ? found.zone : undefined;
    },
    keep: (zone, ttlSeconds) => {
      if (zone.name.includes(".")) return;
      cachedZones.delete(zone.name);
      const [oldest] = cachedZones.keys();
      if (cachedZones.size >= maxKept && oldest !== undefined) cachedZones.delete(oldest);
      cachedZones.set(zone.name, { zone, untilMs: nowMs() + Math.min(ttlSeconds * 1_000, longestMs) });
    },
    drop: (name) => cachedZones.delete(name),
  };
}

/**
 * Opens a cache for several questions that belong together, such as the questions of one import. The cache also keeps
 * the zones of domains. So the questions about one domain need not all ask the registry.
 */
export function openSharedCuts(topLevel: ZoneCache): ZoneCache {
  const domains = new Map<string, Zone>();
  return {
    find: (name) => {
      for (let suffix = name; suffix.includes("."); suffix = suffix.slice(suffix.indexOf(".") + 1)) {
        const zone = domains.get(suffix);
        if (zone) return zone;
      }
      return topLevel.find(name);
    },
    keep: (zone, ttlSeconds) => {
      if (zone.name.includes(".")) domains.set(zone.name, zone);
      else topLevel.keep(zone, ttlSeconds);
    },
    drop: (name) => {
      domains.delete(name);
      topLevel.drop(name);
    },
  };
}
