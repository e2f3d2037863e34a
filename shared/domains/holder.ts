import * as z from "zod";

import type { Reader } from "../table/table.ts";
import { holderKey } from "./domain.ts";

/** Who has a name, of all accounts. A hold that is not firm gives way to whoever proves that the name is theirs. */
export const StoredHolder = z.object({ account_id: z.string(), domain_id: z.string(), firm: z.boolean() });
export type StoredHolder = z.output<typeof StoredHolder>;

/** Who has a name, of all accounts; undefined when nobody has. */
export const readHolder = (table: Reader, name: string): Promise<StoredHolder | undefined> =>
  table.get(holderKey(name), StoredHolder);

/** The holders of names, in their order; undefined where nobody has one. */
export async function readHolders(table: Reader, names: readonly string[]): Promise<(StoredHolder | undefined)[]> {
  const items = await table.getMany(names.map(holderKey));
  return items.map((item) => (item ? StoredHolder.parse(item) : undefined));
}

/** Those of some names that an account, but the one given, has and has proved, or is buying. */
export async function firmlyHeld(table: Reader, names: readonly string[], but?: string): Promise<Set<string>> {
  const holders = await readHolders(table, names);
  return new Set(names.filter((_, index) => holders[index]?.firm === true && holders[index].account_id !== but));
}
