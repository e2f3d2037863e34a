import * as z from "zod";

import type { Change } from "../changes/kind.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { credentialKey, masterKey, StoredCredential, type MasterScope } from "./credential.ts";
import { planCredentialsRemoved } from "./manage.ts";

const atOnce = 10;

const Reference = z.object({ credential_id: z.string() });

/** What deletes the first few master passwords of a scope that goes; `isAll` when there are no more. */
export async function planCredentialPurge(
  table: Reader,
  accountId: string,
  scope: MasterScope,
): Promise<{ isAll: boolean; writes: Write[]; changes: Change[] }> {
  const { PK, SK } = masterKey(accountId, scope);
  const rows = await table.between(PK, SK, `${SK}~`, { limit: atOnce + 1 });
  const ids = rows.slice(0, atOnce).map((row) => Reference.parse(row).credential_id);
  const items = await table.getMany(ids.map((id) => credentialKey(accountId, id)));
  const credentials = items.flatMap((item) => (item ? [StoredCredential.parse(item)] : []));
  return { isAll: rows.length <= atOnce, ...(await planCredentialsRemoved(table, accountId, credentials)) };
}
