import { remember } from "../core/memory.ts";
import { type Item, type Key, keyText } from "./writes.ts";

/** The reads of `SeenItems`. */
export type Seen = Pick<SeenItems, "recall">;

/** Items as this process read and noted them. The items may be stale, so use them only to guess what to read. */
export class SeenItems {
  readonly #items = new Map<string, Item>();

  /** The item at a key; undefined if it was not noted, or was dropped to save memory. */
  recall(key: Key): Item | undefined {
    return this.#items.get(keyText(key));
  }

  /** Notes an item for later requests. */
  note(item: Item): void {
    remember(this.#items, keyText(item), item);
  }

  /** Replaces a noted item by the item that was read at its key. Ignores a key that was not noted. */
  update(key: Key, item: Item | undefined): void {
    if (!this.#items.has(keyText(key))) return;
    if (item) this.note(item);
    else this.#items.delete(keyText(key));
  }
}
