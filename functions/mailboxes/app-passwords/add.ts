import * as z from "zod";

import { FutureTime } from "../../../shared/core/time.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { AppPassword, AppPasswordName, AppProtocol } from "../../../shared/mail/app-passwords/app-password.ts";
import { addAppPassword, aheadOfAppPasswords } from "../../../shared/mail/app-passwords/manage.ts";
import { mailboxInPath, MailboxParams } from "../../../shared/mail/mailboxes/find.ts";
import { loginWork } from "../../../shared/mail/mailboxes/services.ts";
import { planRequired } from "../../../shared/wallet/state.ts";

export const route = defineRoute({
  name: "mailboxes.app_passwords.add",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/app-passwords", status: 201 },
  summary: "Create an app password",
  synonyms: [
    "new",
    "application",
    "specific",
    "device",
    "phone",
    "laptop",
    "program",
    "second password",
    "IMAP",
    "POP3",
  ],
  description:
    "Creates a further password of the mailbox, for one device or program. The app password works for the protocols that you name, until it expires or is deleted. It does not work while the mailbox is paused. Only its hash is stored. Only this answer shows the password. A mailbox has 25 app passwords at most. Expired app passwords count too, until you delete them.",
  capability: "mailbox.reveal",
  subject: mailboxInPath,
  access: "write",
  requires: planRequired,
  lambda: { uses: ["secrets"] },
  shownOnce: ["generated_secret"],
  limit: "sensitive",
  params: MailboxParams,
  body: z
    .strictObject({
      name: AppPasswordName,
      protocols: z
        .array(AppProtocol)
        .min(1)
        .max(3)
        .overwrite((given) => [...new Set(given)].toSorted())
        .meta({ description: "The protocols by which the app password logs in: `imap`, `pop` and `smtp`." }),
      expires_at: FutureTime.nullish().meta({
        description: "When the app password expires. Without it, the app password never expires.",
      }),
    })
    .meta({
      id: "AppPasswordCreate",
      description: "A new app password.",
      examples: [{ name: "Phone", protocols: ["imap", "smtp"] }],
    }),
  output: AppPassword.extend({
    generated_secret: z.string().meta({ description: "The app password. It is shown in this answer only." }),
  }).meta({ id: "AppPasswordWithSecret", description: "A new app password." }),
  problems: ["limit_reached", "upstream_unavailable"],
  ahead: ({ params }, expected) => aheadOfAppPasswords(expected, params.account_id, params.mailbox),
  run: ({ body, found }, context) => addAppPassword(found, body, context, loginWork()),
});

export const handler = http(route);
