import { InvalidInput, Problem, type ProblemCode } from "../../shared/core/errors.ts";
import { advanceIp } from "../../shared/dedicated-ips/advance.ts";
import { moveDomains } from "../../shared/dedicated-ips/assign.ts";
import { authorizeIp } from "../../shared/dedicated-ips/authorize.ts";
import type { IpContext } from "../../shared/dedicated-ips/change.ts";
import { reserveIp } from "../../shared/dedicated-ips/claim.ts";
import type { StoredIp } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { addHost } from "../../shared/dedicated-ips/register.ts";
import { deleteIp } from "../../shared/dedicated-ips/removal.ts";
import { returnStock } from "../../shared/dedicated-ips/stock.ts";
import { resumeOne } from "../../shared/dedicated-ips/sweep.ts";
import { advanceRelease, beginRelease } from "../../shared/deletion/domain.ts";
import { actingIn, type Act as ActIn } from "./acting.ts";
import { contextOf, dayMs, nowOf } from "./billing-scene.ts";
import { ipWorkOf, resolverOf, stockName, stockOf, type IpScene } from "./ips-scene.ts";
import { dueAt, type Due } from "./purchases-facts.ts";
import type { Random } from "./random.ts";
import { sealing } from "./sealing.ts";
import type { Actor, World } from "./world.ts";

type Act = ActIn<IpScene>;

/** The errors that a caller may get. Any other error is a mistake. */
const answers = new Set<ProblemCode>([
  "busy",
  "upstream_unavailable",
  "not_found",
  "out_of_stock",
  "insufficient_funds",
  "ip_taken",
  "ip_in_use",
  "ip_not_ready",
  "domain_has_ip",
  "domain_not_ready",
]);

const isAnswer = (error: unknown): error is Error =>
  error instanceof InvalidInput || (error instanceof Problem && answers.has(error.code));

export const ipActors = (scene: IpScene): Actor[] => {
  const acting = actingIn(scene, isAnswer);
  return [
    acting("claim", 5, claim),
    acting("host", 5, host),
    acting("authorize", 12, authorize),
    acting("publish", 6, publish),
    acting("name", 3, rename),
    acting("ip-work", 16, work),
    acting("assign", 14, (...given) => moving("assign", ...given)),
    acting("unassign", 8, (...given) => moving("unassign", ...given)),
    acting("delete", 5, remove),
    acting("delete-domain", 1, removeDomain),
    acting("restock", 2, (_, world, random) => returnStock(world.table, random.pick(stockOf(3)))),
    acting("wait", 5, wait),
  ];
};

const claim: Act = (scene, world, _, accountId) =>
  reserveIp({ accountId, optionId: scene.option, name: undefined }, contextOf(scene, world, accountId));

const host: Act = (scene, world, random, accountId) => {
  const ips = random.shuffle(scene.own).slice(0, random.pick([1, 2]));
  return addHost(accountId, { name: "Own host", ips }, contextOf(scene, world, accountId));
};

const ipsOf = ({ rows }: IpScene, accountId?: string): StoredIp[] =>
  [...rows.values()].filter((ip) => accountId === undefined || ip.account_id === accountId);

const authorize: Act = async (scene, world, random) => {
  const hosts = ipsOf(scene).filter(({ type }) => type === "byoh");
  if (hosts.length === 0) return;
  const found = random.pick(hosts);
  await authorizeIp(found, random.chance(0.1), contextOf(scene, world, found.account_id), {
    resolver: resolverOf(scene, world, random),
    secrets: sealing,
  });
};

/** Publishes the hash of a host's key at its addresses, sometimes after the removal of the other texts. */
const publish: Act = async (scene, _, random) => {
  const hosts = ipsOf(scene).filter(({ key_hash }) => key_hash !== undefined);
  if (hosts.length === 0) return;
  const { addresses, key_hash = "" } = random.pick(hosts);
  for (const { ip } of addresses) {
    const named = scene.names.get(ip);
    if (random.chance(0.4)) named?.texts.clear();
    named?.texts.add(key_hash);
  }
};

/** Removes the texts of an address, changes its name, or changes whether the name leads back to the address. */
const rename: Act = async (scene, _, random) => {
  const [ip, named] = random.pick([...scene.names]);
  if (random.chance(0.3)) named.texts.clear();
  else if (random.chance(0.5)) named.leadsBack = !named.leadsBack;
  else named.rdns = named.rdns === stockName(ip) ? "else.example.net" : stockName(ip);
};

/** Does one due task, as the sweep does. */
export const doDue = ({ queue, accountId, id, at }: Due, own: IpContext): Promise<void> =>
  (queue === "IP_DUE" ? advanceIp : resumeOne)(accountId, id, at, own);

const work: Act = async (scene, world, random) => {
  if (dueAt(scene, nowOf(scene, world)()).length === 0) await wait(scene, world, random, "");
  const some = random.shuffle(dueAt(scene, nowOf(scene, world)())).slice(0, random.pick([1, 1, 2, 4]));
  const own = ipWorkOf(scene, world, random);
  const results = await Promise.allSettled(some.map((one) => doDue(one, own)));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
};

async function moving(kind: "assign" | "unassign", scene: IpScene, world: World, random: Random, accountId: string) {
  const ips = ipsOf(scene, accountId);
  const names = [...scene.domains.values()].filter((one) => one.account_id === accountId).map(({ name }) => name);
  if (ips.length === 0 || names.length === 0) return;
  const refs = random.shuffle(names).slice(0, random.pick([1, 2, 4]));
  const context = contextOf(scene, world, accountId);
  // The call does not wait for the assignment, because no real time passes here.
  const { detail } = await moveDomains(random.pick(ips), { kind, refs }, context, 0);
  world.note(`${kind}: ${refs.length} of ${detail.domain_count}`);
}

const remove: Act = async (scene, world, random) => {
  const ips = ipsOf(scene);
  if (ips.length === 0) return;
  const found = random.pick(ips);
  await deleteIp(found, contextOf(scene, world, found.account_id));
};

async function unreached(): Promise<never> {
  throw new Error("There is no registrar here.");
}

/** A registrar that throws. No domain of these accounts was bought here. */
export const registrar = {
  tlds: unreached,
  offer: unreached,
  register: unreached,
  findOperation: unreached,
  operation: unreached,
  registration: unreached,
  release: unreached,
  setNameservers: unreached,
  fees: unreached,
  renew: unreached,
  transferOffer: unreached,
  transfer: unreached,
  contact: unreached,
  setContact: unreached,
  authCode: unreached,
  setLock: unreached,
  setPrivacy: unreached,
  stopAutoRenew: unreached,
};

/** Nameservers that make and delete zones. Changes of records in a zone are not part of this module. */
export const dns = {
  createZone: async () => ({ zoneId: "zone" }),
  changeZone: unreached,
  isInSync: unreached,
  deleteZone: async () => undefined,
};

const removeDomain: Act = async (scene, world, random) => {
  const domains = [...scene.domains.values()];
  if (domains.length === 0) return;
  const found = random.pick(domains);
  const context = contextOf(scene, world, found.account_id);
  const wish = { release: true, purge: found.status === "releasing" };
  await advanceRelease(await beginRelease(found, wish, context), context, { dns, registrar });
};

/** Moves the clock on by seconds, minutes, hours or days, or until something is due. */
const wait: Act = async (scene, world, random) => {
  const now = nowOf(scene, world)();
  const next = [...scene.due.values()].map(({ at }) => Date.parse(at) - now.getTime()).filter((ms) => ms > 0);
  const aheadMs = random.pick([1_000, 30_000, 61_000, 3_600_000, dayMs]);
  scene.aheadMs += next.length > 0 && random.chance(0.6) ? Math.min(...next) : aheadMs;
  world.note(`time: ${nowOf(scene, world)().toISOString()}`);
};
