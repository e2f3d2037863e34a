import { hash } from "node:crypto";

import * as z from "zod";

import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import type { Warning } from "../domain.ts";
import { unicodeOf } from "../name.ts";
import confusables from "./confusables.json" with { type: "json" };

/*
 * Access patterns
 *   the names of an account that look like a name   ACCOUNT#<id> / LOOKALIKE#<SHA-256 of the skeleton>#<name>
 */
const skeletonKey = (accountId: string, skeleton: string, name = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `LOOKALIKE#${hash("sha256", skeleton)}#${name}`,
});

/**
 * The prototype that each character looks like, by Unicode's data for UTS #39. The data file names its source and
 * version.
 */
const prototypes: Record<string, string> = confusables.prototypes;

/** The skeleton of a name (UTS #39 §4). Names with the same skeleton look alike. */
export function skeletonOf(name: string): string {
  const shown = unicodeOf(name).normalize("NFD");
  const looks = Array.from(shown, (character) => prototypes[character] ?? character).join("");
  return looks.normalize("NFD").toLowerCase();
}

const Row = z.object({ name: z.string() });

/** The other names of an account that look like this name, at most 20. */
export async function lookalikesOf(table: Reader, accountId: string, name: string): Promise<string[]> {
  const { PK, SK } = skeletonKey(accountId, skeletonOf(name));
  const rows = await table.between(PK, SK, `${SK}~`, { limit: 20 });
  return rows.map((row) => Row.parse(row).name).filter((other) => other !== name);
}

/** The warnings for a name that is new in an account. */
export async function warningsFor(table: Reader, accountId: string, name: string): Promise<Warning[]> {
  const names = await lookalikesOf(table, accountId, name);
  if (names.length === 0) return [];
  const message = `The name looks like ${names.join(", ")}, which this account has. Make sure that you mean this name.`;
  return [{ code: "lookalike", message, names }];
}

/** The write that stores the skeleton of a name that the account gets. */
export const lookalikeWrite = (accountId: string, name: string): Write => ({
  put: { ...skeletonKey(accountId, skeletonOf(name), name), name },
});

/** The write that deletes the skeleton of a name that the account loses. */
export const lookalikeRemoval = (accountId: string, name: string): Write => ({
  delete: skeletonKey(accountId, skeletonOf(name), name),
});
