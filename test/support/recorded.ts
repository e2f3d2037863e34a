import { changeJournalOf, StoredChange } from "../../shared/changes/record.ts";
import { readEntries } from "../../shared/table/journal.ts";
import { testTable, type Account } from "./world.ts";

/** The recorded changes of an account, newest first, at most 200: all of them, or those of one type. */
export async function recorded({ id }: Pick<Account, "id">, type?: string): Promise<StoredChange[]> {
  const keep = type === undefined ? {} : { keep: (row: Record<string, unknown>) => row["type"] === type };
  const { rows } = await readEntries(testTable(), changeJournalOf(id), { skip: 0, take: 200, ...keep }, new Date());
  return rows.map((row) => StoredChange.parse(row));
}
