import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfRestoration, deletedInPath } from "../../shared/mail/mailboxes/deleted.ts";
import { MailboxParams } from "../../shared/mail/mailboxes/find.ts";
import { RestoredMailbox, restoreMailbox } from "../../shared/mail/mailboxes/restore.ts";

export const route = defineRoute({
  name: "mailboxes.restore",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/restore" },
  summary: "Restore a deleted mailbox",
  synonyms: ["undelete", "undo", "recover", "bring back", "get back", "deleted", "lost", "inbox", "email address"],
  description:
    "Undoes a deletion of the last 7 days. The mailbox gets back its id, names, mail, password, app passwords and status, and each alias that is still free. Its forwarding rules work again. Its grants also work again, except the grants that were revoked meanwhile. Give the mailbox's id, or its own address if only one of the deleted mailboxes had it. If another mailbox has this address now, the call fails with `address_taken`.",
  capability: "mailbox.delete",
  subject: deletedInPath,
  access: "write",
  params: MailboxParams,
  output: RestoredMailbox,
  problems: ["address_taken", "domain_not_ready", "mailbox_ambiguous", "mailbox_not_ready"],
  ahead: ({ params }) => aheadOfRestoration(params.account_id, params.mailbox),
  run: ({ found }, context) => restoreMailbox(found, context),
});

export const handler = http(route);
