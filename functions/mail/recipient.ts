import { json } from "../../shared/answer.ts";
import { mailDoor } from "../../shared/mail/door.ts";
import { routeOf } from "../../shared/mail/recipient.ts";

/**
 * Where mail for `?address=` goes, for the deployment's MX: to a mailbox by its address, an alias or the catch-all, to
 * nobody (`none`), or nowhere here (`unknown`).
 */
export const handler = mailDoor("mail.recipient", async ({ rawQueryString }, { table }) => {
  const route = await routeOf(table, new URLSearchParams(rawQueryString).get("address") ?? "");
  return { response: json(200, route), fields: { kind: route.kind } };
});
