import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfNotices, getNotices, Notices, noticesTag } from "../../shared/notices/manage.ts";

export const route = defineRoute({
  name: "notices.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/notices", etag: noticesTag },
  summary: "Read who gets mails about the account",
  synonyms: ["notifications", "e-mails", "alerts", "warnings", "recipients", "who is told", "preferences", "muted"],
  description:
    "The users whose ownership has no end get mails about the account, its wallet and its domains. Owners by a group, and owners whose ownership ends, get mails only if they are `readers`. Only users can be readers, so service accounts get no mails.",
  capability: "auth.manage",
  access: "read",
  params: AccountParams,
  output: Notices,
  ahead: ({ params }, expected) => aheadOfNotices(params.account_id, expected),
  run: ({ params }, context) => getNotices(params.account_id, context),
});

export const handler = http(route);
