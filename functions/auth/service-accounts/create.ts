import * as z from "zod";

import {
  ServiceAccountName,
  ServiceAccountWithToken,
  createServiceAccount,
} from "../../../shared/access/service-account.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { FutureTime } from "../../../shared/core/time.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.service_accounts.create",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/auth/service-accounts", status: 201 },
  summary: "Create a service account",
  synonyms: ["API key", "token", "robot", "bot", "script", "integration", "app", "new", "generate"],
  description:
    "A new service account holds nothing: grant it capabilities or assign it roles. This answer shows its token. The token is not shown again.",
  capability: "auth.manage",
  access: "write",
  shownOnce: ["token"],
  limit: "sensitive",
  params: AccountParams,
  body: z
    .strictObject({
      name: ServiceAccountName,
      expires_at: FutureTime.nullish().meta({
        description:
          "When the token expires. This time cannot be changed later. Without it, the token never expires. 7 days before the token expires, and again 1 day before, the owners get a mail, and the event `auth.service_account.expiring` is sent. 400 days after the token has expired, the service account is revoked.",
      }),
    })
    .meta({ id: "ServiceAccountCreate", description: "A service account to create." }),
  output: ServiceAccountWithToken,
  run: ({ params, body }, context) => createServiceAccount(params.account_id, body, context),
});

export const handler = http(route);
