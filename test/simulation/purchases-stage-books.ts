import { StoredDomain } from "../../shared/domains/domain.ts";
import { StoredBatch } from "../../shared/domains/purchase/batch.ts";
import { holdIdOf } from "../../shared/domains/purchase/buy.ts";
import type { Purchase } from "../../shared/domains/registration-state.ts";
import { movementKey } from "../../shared/ledger/ledger.ts";
import { StoredMovement } from "../../shared/ledger/movement.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import type { Change } from "../support/memory-table.ts";
import { isDomainRow, placeOf, tagOf } from "./purchases-facts.ts";
import { isRunning, type Registered } from "./purchases-registry.ts";
import type { PurchaseScene } from "./purchases-scene.ts";
import { mustHold, type Invariant } from "./world.ts";

/** The place of a hold. Both the hold and its domain are found by it. */
type Place = string;

type Books = {
  scene: PurchaseScene;
  /** The domains that were ever bought with a hold, each in its last known state. */
  rows: Map<Place, StoredDomain>;
  holds: Map<Place, StoredMovement>;
  /** The tags of purchases, by the batch's id. */
  tags: Map<string, string>;
};

/** The status of the hold at each stage of a purchase. */
const statusOf = {
  held: "pending",
  asked: "pending",
  running: "pending",
  captured: "captured",
  voided: "voided",
} as const;

/** The stages that the purchase of a domain can have, by the status of the domain. */
const stagesOf: Record<StoredDomain["status"], readonly Purchase["stage"][]> = {
  pending_registration: ["held", "asked", "running"],
  pending_transfer: [],
  pending_delegation: ["captured"],
  active: ["captured"],
  degraded: ["captured"],
  suspended: ["captured"],
  // No registration here ends before it is given back.
  expired: [],
  failed: ["voided"],
  releasing: ["captured", "voided"],
};

/** The stages to which a write can bring a purchase, by the stage before. */
const nextStages: Record<Purchase["stage"], readonly Purchase["stage"][]> = {
  held: ["held", "asked"],
  asked: ["asked", "running", "captured", "voided"],
  running: ["running", "captured", "voided"],
  captured: ["captured"],
  voided: ["voided"],
};

/**
 * The money of a purchase follows its stage. It is held for one domain until the purchase is over. It is paid once for
 * a name that the registrar has for this purchase. It is free again for a name that the registrar does not have and
 * will not have.
 */
export function stageInvariant(scene: PurchaseScene): Invariant {
  const books: Books = { scene, rows: new Map(), holds: new Map(), tags: new Map() };
  const check = (changes: readonly Change[]): void => {
    const touched = new Set<Place>();
    for (const change of changes) note(books, change, touched);
    for (const place of touched) checkPurchase(books, place);
  };
  return { name: "the stages of purchases", check };
}

function note(books: Books, { key, after }: Change, touched: Set<Place>): void {
  if (key.SK.startsWith("PURCHASE#")) {
    const { id, contact } = StoredBatch.parse(after);
    books.tags.set(id, tagOf(contact));
  }
  if (key.SK.startsWith("LEDGER#MOVEMENT#purchase/")) {
    books.holds.set(placeOf(key), StoredMovement.parse(after));
    touched.add(placeOf(key));
  }
  if (key.SK.startsWith("LEDGER#MOVEMENT#renewal/")) checkRenewed(books.scene, StoredMovement.parse(after));
  if (isDomainRow(key.SK) && after) {
    const row = StoredDomain.parse(after);
    if (row.purchase) touched.add(noteRow(books, row, row.purchase));
  }
}

function noteRow({ rows }: Books, row: StoredDomain, purchase: Purchase): Place {
  const { id, name, account_id, status } = row;
  const { stage, batch_id, hold_id, price } = purchase;
  const place = placeOf(movementKey(walletOf(account_id), hold_id));
  const known = rows.get(place);
  rows.set(place, row);
  mustHold(stagesOf[status].includes(stage), () => `${name} is ${status} and ${stage}`);
  mustHold(hold_id === holdIdOf(batch_id, name), () => `${name} is paid for by ${hold_id}`);
  if (!known?.purchase) return place;
  const { purchase: before } = known;
  mustHold(known.id === id, () => `${name} is bought again with the hold ${hold_id}`);
  mustHold(nextStages[before.stage].includes(stage), () => `${name} was ${before.stage}, and became ${stage}`);
  mustHold(before.price === price, () => `${name} was ${before.price}, and became ${price}`);
  return place;
}

function checkPurchase(books: Books, place: Place): void {
  const [row, hold] = [books.rows.get(place), books.holds.get(place)];
  mustHold(hold !== undefined, () => `${row?.name} is bought, and nothing is held for it`);
  const [, batchId = "", name = ""] = hold.id.split("/");
  checkRegistered(books, hold, { tag: books.tags.get(batchId) ?? "", name });
  mustHold(
    row !== undefined || hold.status !== "pending",
    () => `${hold.amount} are held for ${name}, which nobody buys`,
  );
  if (!row?.purchase) return;
  const { stage, price } = row.purchase;
  mustHold(hold.status === statusOf[stage], () => `${name} is ${stage}, and its hold ${hold.status}`);
  mustHold(hold.amount === price, () => `${name} is ${price}, and ${hold.amount} are held for it`);
}

/**
 * Checks a resolved hold of a renewal. It is captured only for a renewed name. It is voided only if the name was not
 * renewed and will not be.
 */
function checkRenewed({ registry, seenMs }: PurchaseScene, { id, status }: StoredMovement): void {
  const all = registry.renewals.filter(({ holdId }) => holdId === id);
  const done = all.filter((one) => one.outcome === "succeeded" && one.settlesMs <= seenMs);
  const running = all.filter(({ settlesMs }) => seenMs < settlesMs);
  if (status === "captured") mustHold(done.length === 1, () => `${id} is paid, and renewed ${done.length} times`);
  const isFree = done.length + running.length === 0;
  if (status === "voided") mustHold(isFree, () => `${id} was given back, and is renewed`);
}

/** The registrations of a purchase, as far as a caller can know. */
const registeredFor = ({ registry, seenMs }: PurchaseScene, about: { tag: string; name: string }) => {
  const all = registry.operations.filter(({ tag, name }) => tag === about.tag && name === about.name);
  const isDone = (one: Registered): boolean => one.outcome === "succeeded" && !isRunning(one, seenMs);
  return { done: all.filter(isDone), running: all.filter((one) => isRunning(one, seenMs)) };
};

function checkRegistered({ scene }: Books, { status, captured }: StoredMovement, about: { tag: string; name: string }) {
  const { done, running } = registeredFor(scene, about);
  const { tag, name } = about;
  mustHold(done.length + running.length <= 1, () => `${name} is registered twice for ${tag}`);
  if (status === "captured")
    mustHold(done.length === 1, () => `${name} is paid ${captured} for ${tag}, and not registered`);
  const isFree = done.length + running.length === 0;
  if (status === "voided") mustHold(isFree, () => `${name} is registered for ${tag}, and its money was given back`);
}
