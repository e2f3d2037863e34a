import { json } from "../../shared/http/response.ts";
import {
  keepHeader,
  mailServerHandler,
  queryOf,
  requireMember,
  type MailRequest,
} from "../../shared/mail/servers/handler.ts";
import { routeOf, routeOfMailbox } from "../../shared/mail/servers/recipient.ts";
import type { Reader } from "../../shared/table/table.ts";

function routeFor(request: MailRequest, table: Reader) {
  const query = queryOf(request, ["address", "account_id", "mailbox_id"]);
  if (query.mailbox_id === undefined) return routeOf(table, requireMember(query, "address"));
  return routeOfMailbox(table, requireMember(query, "account_id"), query.mailbox_id);
}

/**
 * Tells the deployment's MX where mail for `?address=` goes:
 * - a mailbox, by its address, an alias, the catch-all or a role (`postmaster`, `abuse`)
 * - the targets of forwarding rules alone (`forward`), for an address that no mailbox has
 * - nowhere, because no mailbox has the address, and no rule sends its mail on now (`none`)
 * - nowhere, because of the domain: for example, it is not handled here, or its account is closed (`unknown`)
 *
 * With `?account_id=` and `?mailbox_id=` instead, the answer is the mailbox with this id, or `none`.
 *
 * The answers `none` and `unknown` must not be cached, because somebody can have the address in the next second.
 */
export const handler = mailServerHandler("mail.recipient", async (request, { table }) => {
  const route = await routeFor(request, table);
  const isFound = route.kind !== "none" && route.kind !== "unknown";
  return { response: json(200, route, isFound ? keepHeader("recipient") : {}), fields: { kind: route.kind } };
});
