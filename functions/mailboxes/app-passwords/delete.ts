import { Id } from "../../../shared/core/ids.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../../shared/http/route.ts";
import { aheadOfAppPasswords, deleteAppPassword } from "../../../shared/mail/app-passwords/manage.ts";
import { mailboxInPath, MailboxParams } from "../../../shared/mail/mailboxes/find.ts";

export const route = defineRoute({
  name: "mailboxes.app_passwords.delete",
  http: {
    method: "DELETE",
    path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/app-passwords/{app_password_id}",
  },
  summary: "Delete an app password",
  synonyms: ["remove", "revoke", "application", "device", "lost", "stolen", "phone"],
  description: "Deletes the app password. Logins with it fail from then on.",
  capability: "mailbox.reveal",
  subject: mailboxInPath,
  access: "write",
  params: MailboxParams.extend({ app_password_id: Id.meta({ description: "The app password's id." }) }),
  output: Empty,
  ahead: ({ params }, expected) => aheadOfAppPasswords(expected, params.account_id, params.mailbox),
  run: async ({ params, found }, context) => {
    await deleteAppPassword(found, params.app_password_id, context);
    return {};
  },
});

export const handler = http(route);
