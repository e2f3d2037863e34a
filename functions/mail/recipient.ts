import { json } from "../../shared/http/response.ts";
import { mailServerHandler } from "../../shared/mail/servers/handler.ts";
import { routeOf } from "../../shared/mail/servers/recipient.ts";

/**
 * Tells the deployment's MX where mail for `?address=` goes:
 * - a mailbox, by its address, an alias or the catch-all
 * - nobody (`none`)
 * - not handled here (`unknown`), also when nobody has proved ownership of the domain
 */
export const handler = mailServerHandler("mail.recipient", async ({ rawQueryString }, { table }) => {
  // A plus sign stays a plus sign, encoded or not: no address here contains a space.
  const query = new URLSearchParams(rawQueryString.replaceAll("+", "%2B"));
  const route = await routeOf(table, query.get("address") ?? "");
  return { response: json(200, route), fields: { kind: route.kind } };
});
