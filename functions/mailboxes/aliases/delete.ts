import { http } from "../../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../../shared/http/route.ts";
import { AliasText, removeAlias } from "../../../shared/mail/mailboxes/aliases.ts";
import { aheadOfChange } from "../../../shared/mail/mailboxes/change.ts";
import { MailboxParams, readdressedInPath } from "../../../shared/mail/mailboxes/find.ts";

export const route = defineRoute({
  name: "mailboxes.aliases.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/aliases/{alias}" },
  summary: "Delete an alias",
  synonyms: ["remove", "extra", "additional", "email address", "catch-all"],
  description:
    "Deletes an alias. The address is free at once. You need `mailbox.update` on the domain, its workspace or the account. A grant on the mailbox alone is not enough.",
  capability: "mailbox.update",
  subject: readdressedInPath,
  access: "write",
  params: MailboxParams.extend({ alias: AliasText }),
  output: Empty,
  ahead: ({ params }, expected) => aheadOfChange(expected, params.account_id, params.mailbox),
  run: async ({ params, found }, context) => {
    await removeAlias(found, params.alias, context);
    return {};
  },
});

export const handler = http(route);
