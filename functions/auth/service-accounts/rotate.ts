import * as z from "zod";

import {
  ServiceAccountParams,
  ServiceAccountWithToken,
  rotateServiceAccount,
  aheadOfServiceAccount,
} from "../../../shared/access/service-account.ts";
import { gracePeriodSeconds } from "../../../shared/core/fields.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.service_accounts.rotate",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/auth/service-accounts/{service_account_id}/rotate" },
  summary: "Give a service account a new token",
  synonyms: ["API key", "renew", "replace", "leaked", "stolen", "lost", "expired", "change"],
  description:
    "The old token still works for `overlap_seconds` seconds. With 0, the old token stops working at once. You must hold everything that the service account holds. This answer shows the new token. The token is not shown again.",
  capability: "auth.manage",
  access: "write",
  shownOnce: ["token"],
  limit: "sensitive",
  params: ServiceAccountParams,
  body: z
    .strictObject({
      overlap_seconds: gracePeriodSeconds("How long the old token still works, in seconds"),
    })
    .meta({ id: "ServiceAccountRotate", description: "How to rotate the token." }),
  output: ServiceAccountWithToken,
  problems: ["would_escalate", "limit_reached", "service_account_expired"],
  ahead: ({ params }) => aheadOfServiceAccount(params.account_id, params.service_account_id),
  run: ({ params, body }, context) =>
    rotateServiceAccount(params.account_id, params.service_account_id, body.overlap_seconds, context),
});

export const handler = http(route);
