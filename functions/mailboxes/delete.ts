import { http } from "../../shared/http.ts";
import { deleteMailbox } from "../../shared/mailboxes/delete.ts";
import { mailboxInPath, MailboxParams } from "../../shared/mailboxes/find.ts";
import { mailboxKind } from "../../shared/mailboxes/mailbox.ts";
import { defineRoute, Empty } from "../../shared/route.ts";

export const route = defineRoute({
  name: "mailboxes.delete",
  method: "DELETE",
  path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}",
  summary: "Delete a mailbox",
  description: "With its aliases, its password and the grants on it. Its addresses are free at once.",
  capability: "mailbox.delete",
  subject: mailboxInPath,
  etag: mailboxKind,
  access: "write",
  params: MailboxParams,
  output: Empty,
  run: async ({ found }, context) => {
    await deleteMailbox(found, context);
    return {};
  },
});

export const handler = http(route);
