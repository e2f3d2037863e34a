import { json } from "../../shared/http/response.ts";
import { mailServerHandler } from "../../shared/mail/servers/handler.ts";
import { routeOf } from "../../shared/mail/servers/recipient.ts";

/**
 * Tells the deployment's MX where mail for `?address=` goes:
 * - a mailbox, by its address, an alias or the catch-all
 * - no recipient (`none`)
 * - not handled here (`unknown`), also for a domain without a proved owner
 */
export const handler = mailServerHandler("mail.recipient", async ({ rawQueryString }, { table }) => {
  // A plus sign stays a plus sign, encoded or not: no address here contains a space.
  const query = new URLSearchParams(rawQueryString.replaceAll("+", "%2B"));
  const route = await routeOf(table, query.get("address") ?? "");
  return { response: json(200, route), fields: { kind: route.kind } };
});
