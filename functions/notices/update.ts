import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfNotices, Notices, noticesTag, NoticesUpdate, updateNotices } from "../../shared/notices/manage.ts";

export const route = defineRoute({
  name: "notices.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/notices", etag: noticesTag },
  summary: "Change who gets mails about the account",
  synonyms: [
    "notifications",
    "e-mails",
    "alerts",
    "recipients",
    "mute",
    "unsubscribe",
    "turn off",
    "preferences",
    "billing contact",
  ],
  description:
    "Sets which categories of mails are muted, and which further users of the account get mails. Members of the body that you leave out stay as they are.",
  capability: "auth.manage",
  access: "write",
  params: AccountParams,
  body: NoticesUpdate,
  output: Notices,
  ahead: ({ params, body }, expected) => aheadOfNotices(params.account_id, expected, body.readers),
  run: ({ params, body }, context) => updateNotices(params.account_id, body, context),
});

export const handler = http(route);
