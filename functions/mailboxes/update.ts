import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfChange, changeMailbox } from "../../shared/mail/mailboxes/change.ts";
import { mailboxInPath, MailboxParams } from "../../shared/mail/mailboxes/find.ts";
import { Mailbox, mailboxKind, personName } from "../../shared/mail/mailboxes/mailbox.ts";
import { aheadOfQuota, QuotaAllowed } from "../../shared/mail/mailboxes/quota.ts";

export const route = defineRoute({
  name: "mailboxes.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}", etag: mailboxKind },
  summary: "Update a mailbox's profile",
  synonyms: [
    "change",
    "edit",
    "rename",
    "name",
    "married",
    "person",
    "user",
    "email address",
    "quota",
    "more space",
    "bigger",
    "limit",
  ],
  description: "Changes the names of the mailbox's user, and the space that the mailbox may use.",
  capability: "mailbox.update",
  subject: mailboxInPath,
  access: "write",
  params: MailboxParams,
  body: z
    .strictObject({
      first_name: personName("The given name of the mailbox's user.").optional(),
      last_name: personName("The family name of the mailbox's user.").optional(),
      quota_allowed: QuotaAllowed.optional(),
    })
    .meta({ id: "MailboxUpdate", description: "Changes to a mailbox." }),
  output: Mailbox,
  ahead: ({ params, body }, expected) => {
    const { keys = [], ...ahead } = aheadOfChange(expected, params.account_id, params.mailbox);
    return { ...ahead, keys: [...keys, ...aheadOfQuota(params.account_id, body.quota_allowed)] };
  },
  run: ({ body: { quota_allowed: quota, ...names }, found }, context) =>
    changeMailbox(found, { ...names, quota }, "updated", context),
});

export const handler = http(route);
