import { readCsv } from "./csv.ts";
import { send } from "./mailboxes.ts";
import type { Answer } from "./request.ts";
import type { Account, User } from "./world.ts";

type Options = { as?: User; headers?: Record<string, string> };

/** Asks for an export as JSON, for the account's owner unless another user is given. */
export const askExport = (account: Account, filter: object = {}, options: Options = {}): Promise<Answer> =>
  send(account, "POST", "mailboxes/export", filter, {
    ...options,
    headers: { accept: "application/json", ...options.headers },
  });

/** The addresses in an export, in the order of the export. */
export async function exportedEmails(account: Account, filter: object = {}, as?: User): Promise<string[]> {
  const { status, body, text } = await askExport(account, filter, as ? { as } : {});
  if (status !== 200) throw new Error(text);
  const [header, ...rows] = readCsv(body.csv);
  if (rows.length !== body.row_count) throw new Error(`there are ${rows.length} rows, not ${body.row_count}`);
  return rows.map((row) => row[header?.indexOf("email") ?? -1] ?? "");
}
