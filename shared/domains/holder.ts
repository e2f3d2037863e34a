import * as z from "zod";

import type { Reader } from "../table/table.ts";
import { holderKey } from "./domain.ts";

/** Who has a name, of all accounts. A hold that is not firm gives way to whoever proves that the name is theirs. */
export const StoredHolder = z.object({ account_id: z.string(), domain_id: z.string(), firm: z.boolean() });
export type StoredHolder = z.output<typeof StoredHolder>;

/** Who has a name, of all accounts; undefined when nobody has. */
export const readHolder = (table: Reader, name: string): Promise<StoredHolder | undefined> =>
  table.get(holderKey(name), StoredHolder);
