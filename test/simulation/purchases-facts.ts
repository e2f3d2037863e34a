import { StoredChange } from "../../shared/changes/record.ts";
import { StoredDomain } from "../../shared/domains/domain.ts";
import { StoredBatch } from "../../shared/domains/purchase/batch.ts";
import type { Contact } from "../../shared/providers/registrar/registrar.ts";
import { StoredTopup } from "../../shared/wallet/topup.ts";
import type { Change } from "../support/memory-table.ts";
import { mustHold, type Invariant } from "./world.ts";

/** A due task, as its item says. */
export type Due = { queue: string; at: string; accountId: string; id: string };

/** Copies of the committed items, for actors that look for work. */
export type Facts = {
  /** The domains, by partition key and sort key. */
  rows: Map<string, StoredDomain>;
  due: Map<string, Due>;
  batches: Map<string, StoredBatch>;
  topups: Map<string, StoredTopup>;
  /** The last known state of every domain, including the deleted ones, by its id. */
  lives: Map<string, StoredDomain>;
  /** The time of the payment for which a purchase waited, by the batch's id. */
  paidAt: Map<string, string>;
  /**
   * The published results of the names that waited for a payment, by the batch's id. `id` is the id of the audit entry.
   */
  continued: Map<string, { id: string; results: Results }>;
};

type Results = readonly { domain_name: string; status: string; error_code: string | null }[];

/** The tasks that are due at a time, the earliest first. */
export const dueAt = ({ due }: Pick<Facts, "due">, now: Date): Due[] =>
  [...due.values()]
    .filter(({ at }) => at <= now.toISOString())
    .toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)));

export const newFacts = (): Facts => ({
  rows: new Map(),
  due: new Map(),
  batches: new Map(),
  topups: new Map(),
  lives: new Map(),
  paidAt: new Map(),
  continued: new Map(),
});

/** The tag of a purchase. Its contact has the tag. */
export const tagOf = ({ organization }: Contact): string => organization ?? "";

/** The batch of the purchase with this tag. */
export const batchOf = ({ batches }: Facts, tag: string): StoredBatch | undefined =>
  [...batches.values()].find(({ contact }) => tagOf(contact) === tag);

/** The domains that the purchase with this tag ever bought under a name. */
export function boughtBy({ batches, lives }: Facts, tag: string, name: string): StoredDomain[] {
  const own = new Set([...batches.values()].filter(({ contact }) => tagOf(contact) === tag).map(({ id }) => id));
  return [...lives.values()].filter((life) => life.name === name && own.has(life.purchase?.batch_id ?? ""));
}

/** Whether a sort key belongs to a row in the account's own list of domains. */
export const isDomainRow = (SK: string): boolean => SK.startsWith("LIST#domains#ROW#");

export const placeOf = ({ PK, SK }: Change["key"]): string => `${PK} ${SK}`;

export const isQueue = (PK: string): boolean => /^(?:DOMAIN|PURCHASE|TRANSFER|ZONE)_DUE#/.test(PK);

/** Keeps the facts. Throws if a purchase that waited for a payment is continued twice. */
export const observer = (facts: Facts): Invariant => ({
  name: "the facts",
  check: (changes) => {
    for (const change of changes) note(facts, change);
  },
});

function note(facts: Facts, { key, before, after }: Change): void {
  const place = placeOf(key);
  if (isQueue(key.PK)) {
    const [at = "", accountId = "", id = ""] = key.SK.split("#");
    if (key.PK.startsWith("PURCHASE_DUE#")) facts.paidAt.set(id, at);
    if (after) facts.due.set(place, { queue: key.PK.split("#")[0] ?? "", at, accountId, id });
    else facts.due.delete(place);
  }
  if (isDomainRow(key.SK)) {
    const row = after && StoredDomain.parse(after);
    if (!row) return void facts.rows.delete(place);
    facts.rows.set(place, row);
    facts.lives.set(row.id, row);
  }
  if (key.SK.startsWith("PURCHASE#")) facts.batches.set(place, StoredBatch.parse(after));
  if (key.SK.startsWith("TOPUP#")) facts.topups.set(place, StoredTopup.parse(after));
  if (key.SK.startsWith("JOURNAL#changes#ENTRY#") && before === undefined) noteChange(facts, StoredChange.parse(after));
}

function noteChange({ continued }: Facts, { id, type, resource_id, after }: StoredChange): void {
  if (type !== "domain_purchase.continued") return;
  const known = continued.get(resource_id);
  // At the end, new invariants see all items a second time.
  mustHold(known === undefined || known.id === id, () => `the purchase ${resource_id} was continued twice`);
  continued.set(resource_id, { id, results: (after?.["results"] ?? []) as Results });
}
