import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import {
  addSuppression,
  aheadOfAddition,
  NewSuppression,
  Suppression,
} from "../../shared/mail/suppressions/suppression.ts";

export const route = defineRoute({
  name: "suppressions.add",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/suppressions", status: 201 },
  summary: "Suppress an address",
  synonyms: ["block", "unsubscribe", "stop sending", "blacklist", "opt out", "do not send", "recipient"],
  description:
    "No mail of the account is sent to the address from then on. If the address is suppressed already, its suppression is returned and nothing changes.",
  capability: "suppression.manage",
  access: "write",
  params: AccountParams,
  body: NewSuppression,
  output: Suppression,
  ahead: ({ params, body }) => aheadOfAddition(params.account_id, body.email),
  run: ({ params, body }, context) => addSuppression(params.account_id, body, context),
});

export const handler = http(route);
