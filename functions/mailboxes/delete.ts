import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";
import { deleteMailbox, aheadOfDeletion } from "../../shared/mail/mailboxes/delete.ts";
import { mailboxInPath, MailboxParams } from "../../shared/mail/mailboxes/find.ts";
import { mailboxKind } from "../../shared/mail/mailboxes/mailbox.ts";

export const route = defineRoute({
  name: "mailboxes.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}", etag: mailboxKind },
  summary: "Delete a mailbox",
  synonyms: ["remove", "close", "left", "leaver", "email address", "inbox", "user", "employee", "account"],
  description:
    "Deletes the mailbox. Its addresses are free at once, nobody can log in to it, and its open sessions end. Mail to its addresses goes to a forwarding rule for the address, or to the catch-all of the domain. If there is neither, mail to `postmaster` and `abuse` goes to the first mailbox of the domain, if there is one. All other mail is refused. For 7 days `mailboxes.restore` brings the mailbox back. After 7 days, the mailbox is purged with its mail and the grants on it. If its domain is removed earlier, the mailbox is purged with the domain.",
  capability: "mailbox.delete",
  subject: mailboxInPath,
  access: "write",
  params: MailboxParams,
  output: Empty,
  ahead: ({ params }, expected) => aheadOfDeletion(params.account_id, params.mailbox, expected),
  run: async ({ found }, context) => {
    await deleteMailbox(found, context);
    return {};
  },
});

export const handler = http(route);
