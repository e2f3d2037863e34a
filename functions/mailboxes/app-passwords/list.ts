import * as z from "zod";

import { pageOf, pageQuery } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { AppPassword } from "../../../shared/mail/app-passwords/app-password.ts";
import { aheadOfAppPasswords, listAppPasswords } from "../../../shared/mail/app-passwords/manage.ts";
import { mailboxInPath, MailboxParams } from "../../../shared/mail/mailboxes/find.ts";

export const route = defineRoute({
  name: "mailboxes.app_passwords.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/app-passwords" },
  summary: "List the app passwords of a mailbox",
  synonyms: ["show", "application", "devices", "phone", "programs", "logins", "last used"],
  description: "Lists the mailbox's app passwords, oldest first. The passwords themselves are not shown.",
  capability: "mailbox.reveal",
  subject: mailboxInPath,
  access: "read",
  params: MailboxParams,
  query: z.strictObject(pageQuery),
  output: pageOf(AppPassword, "app passwords").meta({
    id: "AppPasswordListResponse",
    description: "A page of app passwords.",
  }),
  ahead: ({ params }, expected) => aheadOfAppPasswords(expected, params.account_id, params.mailbox),
  run: async ({ query, found }, context) => ({ ...(await listAppPasswords(found, query, context)), ...query }),
});

export const handler = http(route);
