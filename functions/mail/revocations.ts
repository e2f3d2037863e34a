import { invalidAt } from "../../shared/core/errors.ts";
import { json } from "../../shared/http/response.ts";
import { mailServerHandler, queryOf } from "../../shared/mail/servers/handler.ts";
import { isCursor, readRevocations } from "../../shared/mail/servers/revocations.ts";

const [usualItems, mostItems] = [100, 500];

/** The limit in a query: 1 to 500, by default 100. Throws 422 for any other text. */
function limitOf(text = String(usualItems)): number {
  const limit = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= mostItems) return limit;
  throw invalidAt(["query", "limit"], `Write a number from 1 to ${mostItems}`);
}

/** The cursor in a query. Throws 422 for a text that is not a cursor. */
function cursorOf(text: string | undefined): string | undefined {
  if (text === undefined || isCursor(text)) return text;
  const msg = "Write the `next` of an earlier answer, or leave out `since` to begin now";
  throw invalidAt(["query", "since"], msg);
}

/**
 * Tells the deployment's mail servers which sessions to end, which mail to purge, and which mailboxes were restored.
 * The answer begins after the cursor `?since=`.
 */
export const handler = mailServerHandler("mail.revocations", async (request, { table, now }) => {
  const query = queryOf(request, ["since", "limit"]);
  const page = await readRevocations(table, { since: cursorOf(query.since), limit: limitOf(query.limit) }, now());
  return { response: json(200, page), fields: { count: page.items.length } };
});
