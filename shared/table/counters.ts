import { type Key, keyText, type Write } from "./writes.ts";

/**
 * The additions that one transaction makes to counters. A transaction can write an item only once, so additions to the
 * same item become one write. The writes have no condition, so no transaction has to read a counter before.
 */
export class Counters {
  readonly #items = new Map<string, { key: Key; ttl: number; add: Record<string, number> }>();

  /**
   * Adds numbers to attributes of an item. Also sets the time after which the table deletes the item: the latest
   * `expiresAt` of the calls for this item.
   */
  add(key: Key, amounts: Readonly<Record<string, number>>, expiresAt: Date): void {
    const ttl = Math.ceil(expiresAt.getTime() / 1_000);
    const item = this.#items.get(keyText(key)) ?? { key, ttl, add: {} };
    for (const [name, amount] of Object.entries(amounts)) item.add[name] = (item.add[name] ?? 0) + amount;
    this.#items.set(keyText(key), { ...item, ttl: Math.max(item.ttl, ttl) });
  }

  /** One write for each item. */
  writes(): Write[] {
    return [...this.#items.values()].map(({ key, ttl, add }) => ({ update: key, set: { ttl }, add }));
  }
}
