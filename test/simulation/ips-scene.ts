import type { IpContext } from "../../shared/dedicated-ips/change.ts";
import { StoredIp } from "../../shared/dedicated-ips/dedicated-ip.ts";
import type { AnsweredRecord, Resolver } from "../../shared/dns/answer.ts";
import { addressAt } from "../../shared/dns/reverse.ts";
import { StoredDomain } from "../../shared/domains/domain.ts";
import type { Change } from "../support/memory-table.ts";
import { nowOf, silent, type Scene } from "./billing-scene.ts";
import { isDomainRow, type Due } from "./purchases-facts.ts";
import type { Random } from "./random.ts";
import type { Invariant, World } from "./world.ts";

/**
 * The DNS data of an address: its name, whether the name leads back to the address, and the texts at `_setup` of the
 * name.
 */
type Named = { rdns: string; leadsBack: boolean; texts: Set<string> };

/** The state that all actors of a schedule share: the DNS, and copies of the committed items. */
export type IpScene = Scene & {
  names: Map<string, Named>;
  /** The addresses that accounts claim for their own hosts. */
  own: readonly string[];
  option: string;
  rows: Map<string, StoredIp>;
  domains: Map<string, StoredDomain>;
  due: Map<string, Due>;
  /** Whether faults have ended. */
  isCalm: boolean;
};

const nameOf = (ip: string): string => `host-${ip.replaceAll(".", "-")}.example.net`;
const named = (ip: string): [string, Named] => [ip, { rdns: nameOf(ip), leadsBack: true, texts: new Set() }];

export const stockOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `45.0.0.${index + 1}`);

export function newIpScene(): IpScene {
  const own = ["45.1.0.1", "45.1.0.2", "45.1.0.3"];
  return {
    accounts: ["7", "8"].map((name) => `${name}0000000-0000-4000-8000-000000000000`),
    aheadMs: 0,
    checkouts: [],
    events: [],
    holds: [],
    ids: 0,
    names: new Map([...own, ...stockOf(3)].map(named)),
    own,
    option: "eu-1",
    rows: new Map(),
    domains: new Map(),
    due: new Map(),
    isCalm: false,
  };
}

export const stockName = nameOf;

/** The DNS of the scene. An answer can be missing. An answer with texts can also take a while. */
export function resolverOf(scene: IpScene, world: World, random: Random): Resolver {
  const recordsOf = (name: string, type: AnsweredRecord["type"]): AnsweredRecord[] => {
    const about = { name, ttl: 60 };
    const ip = addressAt(name);
    if (type === "PTR") {
      const host = ip === undefined ? undefined : scene.names.get(ip)?.rdns;
      return host === undefined ? [] : [{ ...about, type, host }];
    }
    const hosts = [...scene.names].filter(([, { rdns }]) => rdns === name.replace(/^_setup\./, ""));
    if (type === "TXT") return hosts.flatMap(([, { texts }]) => [...texts].map((text) => ({ ...about, type, text })));
    return hosts.flatMap(([address, { leadsBack }]) =>
      leadsBack && type === "A" ? [{ ...about, type, address }] : [],
    );
  };
  return {
    resolve: async (name, type) => {
      const isSilent = !scene.isCalm && random.chance(0.1);
      if (type === "TXT") await world.pause("dns").catch(() => undefined);
      if (isSilent) return { status: "unknown", reason: "nobody answers" };
      const records = recordsOf(name, type);
      return records.length === 0 ? { status: "none" } : { status: "found", records };
    },
    delegation: async () => ({ status: "none" }),
  };
}

export const ipWorkOf = (scene: IpScene, world: World, random: Random): IpContext => ({
  table: world.table,
  now: nowOf(scene, world),
  log: silent,
  resolver: resolverOf(scene, world, random),
});

/** Keeps copies of the committed items for the actors. */
export const ipObserver = (scene: IpScene): Invariant => ({
  name: "what there is",
  check: (changes) => {
    for (const change of changes) note(scene, change);
  },
});

function note(scene: IpScene, { key, after }: Change): void {
  const place = `${key.PK} ${key.SK}`;
  if (/^IP(?:_OPERATION)?_DUE#/.test(key.PK)) {
    const [at = "", accountId = "", id = ""] = key.SK.split("#");
    if (after) scene.due.set(place, { queue: key.PK.split("#")[0] ?? "", at, accountId, id });
    else scene.due.delete(place);
  }
  if (key.SK.startsWith("LIST#dedicated_ips#ROW#")) {
    if (after) scene.rows.set(place, StoredIp.parse(after));
    else scene.rows.delete(place);
  }
  if (isDomainRow(key.SK)) {
    if (after) scene.domains.set(place, StoredDomain.parse(after));
    else scene.domains.delete(place);
  }
}
