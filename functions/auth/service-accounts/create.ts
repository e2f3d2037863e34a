import * as z from "zod";

import {
  ServiceAccountWithToken,
  createServiceAccount,
} from "../../../shared/access/service-accounts/service-account.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { line } from "../../../shared/core/text.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.service_accounts.create",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/auth/service-accounts",
  summary: "Create a service account",
  description: "It holds nothing until something is granted to it. Its token is in this answer and never again.",
  capability: "auth.manage",
  access: "write",
  shownOnce: ["token"],
  limit: "sensitive",
  params: AccountParams,
  body: z
    .strictObject({
      name: line({ most: 120, description: "A name to know it by." }),
      expires_at: z.iso
        .datetime({ offset: true, abort: true })
        .refine((at) => Date.parse(at) > Date.now(), { error: "This is not in the future" })
        .refine((at) => new Date(at).getUTCFullYear() <= 9999, { error: "This is too far in the future" })
        .overwrite((at) => new Date(at).toISOString())
        .nullish()
        .meta({ description: "When its token stops working; never when it is not given." }),
    })
    .meta({ id: "ServiceAccountCreate", description: "A service account to create." }),
  status: 201,
  output: ServiceAccountWithToken,
  run: ({ params, body }, context) => createServiceAccount(params.account_id, body, context),
});

export const handler = http(route);
