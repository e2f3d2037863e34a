import { hash } from "node:crypto";

import { foldedName } from "../core/text.ts";
import type { Reader } from "./table.ts";
import type { Key, Write } from "./writes.ts";

/**
 * The keys of the items that reserve a name of the kind `kind`, such as `TAG`. The name is unique in its account
 * ignoring case. The name is hashed, because a sort key can have 1,024 bytes only.
 *
 * Most names have one key, made from the lower case. A name has a second key if characters of its lower case can be
 * composed into one letter. For example, the small letter U+0390 is one character, but its capital is U+03AA U+0301,
 * and the lower case of this capital has two characters too. The second key is made from the composed letters. So the
 * name with the capital also has the key of the name with the small letter, and only one of the two names can exist.
 * Names that version 0.1.0 stored have only the first key.
 */
export function reservedNameKeys(accountId: string, kind: string, name: string): [Key, ...Key[]] {
  const keyOf = (text: string): Key => ({
    PK: `ACCOUNT#${accountId}`,
    SK: `${kind}_NAME#${hash("sha256", text)}`,
  });
  const folded = foldedName(name);
  const composed = folded.normalize("NFKC");
  return composed === folded ? [keyOf(folded)] : [keyOf(folded), keyOf(composed)];
}

/**
 * The writes that reserve the keys of a name for the resource `id`. The writes fail with `orElse` if one of the keys is
 * reserved already.
 */
export const claimName = (keys: readonly Key[], id: string, orElse: NonNullable<Write["orElse"]>): Write[] =>
  keys.map((key) => ({ put: { ...key, id }, if: "absent", orElse }));

/**
 * The keys that the resource `id` has reserved for its name: the first key, and the second key only if its item has
 * this id.
 */
async function heldKeys(table: Reader, [first, ...others]: readonly [Key, ...Key[]], id: string): Promise<Key[]> {
  if (others.length === 0) return [first];
  const items = await table.getMany(others);
  return [first, ...others.filter((_, index) => items[index]?.["id"] === id)];
}

const without = (keys: readonly Key[], others: readonly Key[]): Key[] =>
  keys.filter(({ SK }) => others.every((other) => other.SK !== SK));

/** The writes that give up the name of the resource `id` when the resource is deleted. */
export const planNameRemoval = async (table: Reader, keys: readonly [Key, ...Key[]], id: string): Promise<Write[]> =>
  (await heldKeys(table, keys, id)).map((key) => ({ delete: key }));

/**
 * The writes that change the name of the resource `id`. The writes fail with `orElse` if another resource has the new
 * name. If the first keys of both names are the same, for example because the names differ only in case, there are no
 * writes.
 */
export async function planNameChange(
  table: Reader,
  { from, to }: Record<"from" | "to", readonly [Key, ...Key[]]>,
  id: string,
  orElse: NonNullable<Write["orElse"]>,
): Promise<Write[]> {
  if (from[0].SK === to[0].SK) return [];
  const held = await heldKeys(table, from, id);
  return [...claimName(without(to, held), id, orElse), ...without(held, to).map((key): Write => ({ delete: key }))];
}
