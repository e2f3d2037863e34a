import type { Reader } from "../../table/table.ts";
import { withoutTag } from "../forwarding/here.ts";
import { readAddress } from "../mailboxes/local-part.ts";
import { copiesOf, type MailCopy } from "./copies.ts";
import { findRecipient } from "./find-account.ts";

/** Where mail for an address goes. `none`: the domain is here and nobody has the address; `unknown`: it is not ours. */
export type Route =
  | {
      kind: "mailbox" | "alias" | "catch_all";
      mailbox: string;
      mailbox_id: string;
      account_id: string;
      /** Where copies go by forwarding rules. */
      copies: MailCopy[];
    }
  | { kind: "none" | "unknown" };

/** Where mail for an address goes: an alias to its mailbox, an address nobody has to the catch-all. */
export async function routeOf(table: Reader, given: string): Promise<Route> {
  const read = readAddress(given);
  if (!read) return { kind: "unknown" };
  const { accountId, account, domain, isProved, address, mailbox } = await findRecipient(
    table,
    { ...read, local: withoutTag(read.local) },
    true,
  );
  if (!domain || !account || account.status === "closed") return { kind: "unknown" };
  if (!isProved) return { kind: "unknown" };
  // Paused and suspended mailboxes still get their mail.
  if (!address || !mailbox) return { kind: "none" };
  const email = `${mailbox.local_part}@${domain.name}`;
  // A suspended account keeps its mail, and has none sent on.
  const copies = account.status === "suspended" ? [] : await copiesOf(table, accountId, { mailbox, domain });
  return { kind: address.kind, mailbox: email, mailbox_id: mailbox.id, account_id: accountId, copies };
}
