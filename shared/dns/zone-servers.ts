import type { Endpoint } from "../core/endpoint.ts";
import { isPublicUnicast } from "../core/public-address.ts";
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
