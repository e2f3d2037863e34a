import type { Reader } from "../../table/table.ts";
import { withoutTag } from "../forwarding/destinations.ts";
import { readAddress } from "../mailboxes/local-part.ts";
import { copiesOf, type MailCopy } from "./copies.ts";
import { findRecipient } from "./find-account.ts";

/**
 * The destination of mail for an address. `none`: the domain is here, but no mailbox has the address. `unknown`: the
 * domain is not here.
 */
export type Route =
  | {
      kind: "mailbox" | "alias" | "catch_all";
      mailbox: string;
      mailbox_id: string;
      account_id: string;
      /** The copies that forwarding rules make. */
      copies: MailCopy[];
    }
  | { kind: "none" | "unknown" };

/**
 * Finds the destination of mail for an address: an alias leads to its mailbox, an address without a mailbox to the
 * catch-all.
 */
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
  // A suspended account receives its mail, but no copies are sent.
  const copies = account.status === "suspended" ? [] : await copiesOf(table, accountId, { mailbox, domain });
  return { kind: address.kind, mailbox: email, mailbox_id: mailbox.id, account_id: accountId, copies };
}
