import { route } from "../../functions/domains/transfer.ts";
import { advanceDomain, advanceDueTransfer } from "../../functions/workers/advance-domains.ts";
import { nameserversOf } from "../../shared/core/platform.ts";
import { advanceRelease, beginRelease } from "../../shared/deletion/domain.ts";
import { restoreDomain } from "../../shared/deletion/restore.ts";
import type { Resolver } from "../../shared/dns/answer.ts";
import { domainKey, isRegistered, isRenewing, isTransferring, type StoredDomain } from "../../shared/domains/domain.ts";
import { domainByName } from "../../shared/domains/find.ts";
import { continueBatch } from "../../shared/domains/purchase/continue-batch.ts";
import { TransferAnswer, type TransferRequest as TransferBody } from "../../shared/domains/purchase/requests.ts";
import { transferDomains } from "../../shared/domains/purchase/transfer.ts";
import { renewDomain } from "../../shared/domains/renewal/renew.ts";
import { addDomain } from "../../shared/domains/setup/add.ts";
import { isKept } from "../../shared/domains/setup/releasing.ts";
import type { DomainWork } from "../../shared/domains/setup/work.ts";
import { invoke } from "../../shared/http/invoke.ts";
import { contact } from "../support/contact.ts";
import { actingIn, type Act as ActIn } from "./acting.ts";
import { ask, topUp } from "./billing-actors.ts";
import { contextOf, dayMs, invocationOf, newId, nowOf, providerOf } from "./billing-scene.ts";
import { lifeRegistrarOf } from "./lives-registrar.ts";
import {
  authCodeOf,
  beginLife,
  byHand,
  calmLife,
  endOfTenure,
  runningOf,
  tenureOf,
  turnsOf,
} from "./lives-registry.ts";
import { lifeWorkOf, type LifeScene, type TransferRequest } from "./lives-scene.ts";
import { isAnswer, pay } from "./purchases-actors.ts";
import { dueAt, placeOf, type Due } from "./purchases-facts.ts";
import { dns } from "./purchases-scene.ts";
import type { Random } from "./random.ts";
import { sealing } from "./sealing.ts";
import { mustHold, type Actor, type World } from "./world.ts";

type Act = ActIn<LifeScene>;

export function lifeActors(scene: LifeScene): Actor[] {
  const acting = actingIn(scene, isAnswer);
  return [
    acting("transfer", 6, transfer),
    acting("transfer-again", 3, transferAgain),
    acting("connect", 4, connect),
    acting("work", 30, work),
    acting("leave", 2, leave),
    acting("renew", 3, renew),
    acting("renew-by-hand", 1, renewByHand),
    acting("remove", 2, remove),
    acting("restore", 2, restore),
    acting("pay", 4, pay),
    acting("ask", 2, ask),
    acting("top-up", 1, topUp),
    acting("time", 5, time),
  ];
}

const namesOf = ({ registry }: LifeScene): string[] => [...registry.prices.keys()];

/** Asks to transfer one to three names, mostly with their auth codes. */
const transfer: Act = (scene, world, random, accountId) => {
  const names = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => random.pick(namesOf(scene)));
  const code = random.chance(0.1) ? "a wrong one" : undefined;
  // An external domain needs a key, which takes long to make.
  const dnsMode = random.chance(0.1) ? "external" : "hosted";
  const request = { accountId, names, code, key: newId(scene, "key"), dnsMode } as const;
  scene.requests.push(request);
  return send(scene, world, random, request);
};

/** Sends a request again, as a caller without an answer does. */
const transferAgain: Act = async (scene, world, random) => {
  if (scene.requests.length > 0) await send(scene, world, random, random.pick(scene.requests.slice(-3)));
};

/** Transfers a name before the schedule begins. The registrar answers at once, and the worker has run once. */
export async function transferBefore(scene: LifeScene, world: World, random: Random, accountId: string): Promise<void> {
  const { registry, facts } = scene;
  const { mood } = registry;
  registry.mood = calmLife;
  const name = random.pick(namesOf(scene));
  const request = { names: [name], code: undefined, key: newId(scene, "key"), dnsMode: "hosted" } as const;
  await send(scene, world, random, { accountId, ...request });
  const observe = async () => {
    const row = await domainByName(world.table, accountId, name);
    if (row) facts.rows.set(placeOf(domainKey(accountId, row.id)), row);
    return row;
  };
  const { id = "", transfer: begun } = (await observe()) ?? {};
  if (begun?.due_at) await advanceDueTransfer(accountId, id, begun.due_at, lifeWorkOf(scene, world, random));
  await observe();
  registry.mood = mood;
}

/** Sends a request for transfers through `invoke`, as the route does. */
async function send(scene: LifeScene, world: World, random: Random, request: TransferRequest): Promise<void> {
  const { accountId, names, code, key, dnsMode } = request;
  world.note(`transfers ${names.join(", ")} as ${key}`);
  const body: TransferBody = {
    workspace_id: scene.workspaces.get(accountId) ?? "",
    domains: names.map((name) => ({ name, auth_code: code ?? authCodeOf(name) })),
    contact_info: contact,
    dns_mode: dnsMode,
  };
  const outside = {
    registrar: lifeRegistrarOf(scene, world, random),
    secrets: sealing,
    checkouts: () => ({ payments: providerOf(scene, world, []), publicUrl: "http://here" }),
  };
  const { output } = await invoke(
    { ...route, run: (input, context) => transferDomains(accountId, input.body as TransferBody, context, outside) },
    { params: { account_id: accountId }, query: {}, body, headers: { "idempotency-key": key } },
    invocationOf(scene, world, accountId),
  );
  const { results } = TransferAnswer.parse(output);
  const told = results.map(({ domain_name, status, error_code }) => `${domain_name} ${error_code ?? status}`);
  world.note(`learns: ${told.join(", ")}`);
  if (code === undefined) return;
  const wrong = results.filter(({ status }) => status !== "failed");
  mustHold(wrong.length === 0, () => `${wrong[0]?.domain_name} is ${wrong[0]?.status}, and the auth code is wrong`);
}

/** Connects a name. Sometimes the parent zone delegates it to the account. */
const connect: Act = async (scene, world, random, accountId) => {
  const name = random.pick(namesOf(scene));
  const resolver = resolverFor(scene, world, random, { account_id: accountId, name });
  world.note(`connects ${name} for ${accountId.charAt(0)}`);
  const workspaceId = scene.workspaces.get(accountId) ?? "";
  await addDomain(accountId, { name, workspaceId }, contextOf(scene, world, accountId), resolver);
};

/** A resolver whose parent zone delegates a name to an account, or to nobody. */
function resolverFor(
  scene: LifeScene,
  world: World,
  random: Random,
  { account_id, name }: Pick<StoredDomain, "account_id" | "name">,
): Resolver {
  const proof = { status: "delegated" as const, nameservers: nameserversOf(account_id) };
  // If the name is registered with us, the resolver finds no delegation.
  const isOurs = tenureOf(scene.registry, name, nowOf(scene, world)().getTime()) !== undefined;
  const delegation = async () => (!isOurs && random.chance(0.4) ? proof : { status: "none" as const });
  return { ...lifeWorkOf(scene, world, random).resolver, delegation };
}

/** Does one due task, as the sweep does. */
export function doLife({ queue, accountId, id, at }: Due, work: DomainWork): Promise<void> {
  if (queue === "PURCHASE_DUE") return continueBatch(accountId, id, at, work);
  const advance = queue === "TRANSFER_DUE" ? advanceDueTransfer : advanceDomain;
  return advance(accountId, id, at, work);
}

/** Does due tasks, as one run of the worker does. */
const work: Act = async (scene, world, random) => {
  const due = dueAt(scene.facts, nowOf(scene, world)());
  if (due.length === 0) await time(scene, world, random, "");
  const some = random.shuffle(dueAt(scene.facts, nowOf(scene, world)())).slice(0, random.pick([1, 1, 2, 4]));
  const own = lifeWorkOf(scene, world, random);
  const results = await Promise.allSettled(some.map((one) => doLife(one, own)));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
};

/** Transfers a name away to another registrar, on behalf of its owner. */
const leave: Act = async (scene, world, random) => {
  const { registry } = scene;
  const nowMs = nowOf(scene, world)().getTime();
  const ours = namesOf(scene).flatMap((name) => tenureOf(registry, name, nowMs) ?? []);
  // The owner needs the auth code from the product, and gets it only after the transfer to us is over. A name does not
  // leave within a day after its transfer to us. ICANN demands 60 days. The product only needs a time that is longer
  // than the difference between two clocks.
  const staying = ours.filter(
    ({ fromMs, toMs, holdId }) => toMs === Infinity && nowMs - fromMs > dayMs && isCaptured(scene, holdId),
  );
  if (staying.length === 0) return;
  const tenure = random.pick(staying);
  const about = { kind: "transfer_out" as const, name: tenure.name, holdId: "", years: 1, tenure };
  const operation = beginLife(registry, random, { ...about, id: newId(scene, "departure") }, nowMs);
  if (operation.outcome === "succeeded") tenure.toMs = operation.settlesMs;
  world.note(`registrar: ${operation.id} of ${tenure.name}, ${operation.outcome}`);
};

const isCaptured = ({ facts }: LifeScene, holdId: string): boolean =>
  [...facts.rows.values()].some(({ transfer }) => transfer?.hold_id === holdId && transfer.stage === "captured");

/** Renews a domain, as the route does. */
const renew: Act = async (scene, world, random) => {
  const rows = [...scene.facts.rows.values()].filter((row) => row.is_open && isRegistered(row));
  if (rows.length === 0) return;
  const found = random.pick(rows);
  const registrar = lifeRegistrarOf(scene, world, random);
  world.note(`renews ${found.name}`);
  await renewDomain(found, { years: random.between(1, 2) }, contextOf(scene, world, found.account_id), registrar);
};

/**
 * Renews a name at the registrar's console, as an operator does. The renewal always succeeds. The product learns of the
 * renewal only from the registrar.
 */
const renewByHand: Act = async (scene, world, random) => {
  const { registry } = scene;
  const nowMs = nowOf(scene, world)().getTime();
  const ours = namesOf(scene).flatMap((name) => tenureOf(registry, name, nowMs) ?? []);
  const idle = ours.filter(({ name }) => !runningOf(registry, name, "renew", nowMs));
  if (idle.length === 0) return;
  const tenure = random.pick(idle);
  const about = { kind: "renew" as const, name: tenure.name, holdId: byHand, years: 1, tenure };
  const operation = beginLife(registry, random, { ...about, id: newId(scene, "renewal") }, nowMs);
  operation.outcome = "succeeded";
  world.note(`registrar: ${operation.id} of ${tenure.name} by hand, in ${operation.settlesMs - nowMs} ms`);
};

/** Deletes a domain, as the route does. Mostly chooses a domain that can be deleted. */
const remove: Act = async (scene, world, random) => {
  // A second deletion deletes a restorable domain for good.
  const isEasy = (row: StoredDomain): boolean => !isTransferring(row) && (!isKept(row) || random.chance(0.2));
  const rows = [...scene.facts.rows.values()].filter((row) => random.chance(0.1) || isEasy(row));
  if (rows.length > 0) await removeLife(scene, world, random, random.pick(rows));
};

export async function removeLife(scene: LifeScene, world: World, random: Random, found: StoredDomain): Promise<void> {
  const { account_id, name, status } = found;
  world.note(`removes ${name}, which is ${status}`);
  const context = contextOf(scene, world, account_id);
  const registrar = lifeRegistrarOf(scene, world, random);
  const wish = { release: true, purge: found.status === "releasing" };
  await advanceRelease(await beginRelease(found, wish, context), context, { dns, registrar });
}

/** Restores a domain, mostly one that was deleted or lost its name. */
const restore: Act = async (scene, world, random) => {
  const rows = [...scene.facts.rows.values()].filter((row) => random.chance(0.1) || isKept(row));
  if (rows.length === 0) return;
  const found = random.pick(rows);
  world.note(`restores ${found.name}, which is ${found.status}`);
  const context = contextOf(scene, world, found.account_id);
  await restoreDomain(found, context, resolverFor(scene, world, random, found));
};

/**
 * Whether no transfer and no renewal of a domain is open, and the product knows the end of each registration. Otherwise
 * the worker has work to do. Then time must not pass so far that a registration changes before the worker sees it.
 */
function isIdle({ registry, facts }: LifeScene, nowMs: number): boolean {
  const rows = [...facts.rows.values()];
  const isKnown = ({ transfer, status, registration }: StoredDomain): boolean => {
    const tenure = registry.tenures.find(({ holdId }) => holdId === transfer?.hold_id);
    const isOver = !tenure || tenure.toMs <= nowMs || status === "releasing";
    return isOver || registration?.expires_at === endOfTenure(registry, tenure, () => true).toISOString();
  };
  return rows.every((row) => !isTransferring(row) && !isRenewing(row) && isKnown(row));
}

/**
 * Moves the clock on by a second to a day, or until a task is due. If `isIdle` is true, also moves it on by 35 or 100
 * days, or until a registration changes.
 */
const time: Act = async (scene, world, random) => {
  const nowMs = nowOf(scene, world)().getTime();
  const isLong = isIdle(scene, nowMs);
  const turns = isLong ? turnsOf(scene.registry, nowMs) : [];
  const next = [...scene.facts.due.values()].map(({ at }) => Date.parse(at)).filter((at) => at > nowMs);
  let instants: readonly number[] = [];
  if (turns.length > 0 && random.chance(0.3)) instants = turns;
  else if (random.chance(0.6)) instants = next;
  const long = isLong ? [35 * dayMs, 100 * dayMs] : [];
  const aheadMs = random.pick([1_000, 30_000, 600_001, 6 * 3_600_000, dayMs, ...long]);
  scene.aheadMs += instants.length > 0 ? Math.min(...instants) - nowMs : aheadMs;
  world.note(`time: ${nowOf(scene, world)().toISOString()}`);
};
