import { json } from "../../shared/http/response.ts";
import { mailDoor } from "../../shared/mail/servers/door.ts";
import { routeOf } from "../../shared/mail/servers/recipient.ts";

/**
 * Where mail for `?address=` goes, for the deployment's MX: to a mailbox by its address, an alias or the catch-all, to
 * nobody (`none`), or nowhere here (`unknown`): also when nobody has proved that the domain is theirs.
 */
export const handler = mailDoor("mail.recipient", async ({ rawQueryString }, { table }) => {
  // A plus is a plus here, written as it is or percent-encoded: no address that is given out has a space.
  const query = new URLSearchParams(rawQueryString.replaceAll("+", "%2B"));
  const route = await routeOf(table, query.get("address") ?? "");
  return { response: json(200, route), fields: { kind: route.kind } };
});
