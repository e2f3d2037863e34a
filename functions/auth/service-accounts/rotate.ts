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
    "The new token expires at the service account's `expires_at`, as the old token does: a rotation does not move this time. If the service account has expired, create another one (409 `service_account_expired`). The old token works for `overlap_seconds` more seconds, but not after its own end. With 0, all old tokens stop working at once. At most 20 tokens work at the same time (409 `limit_reached`). You must hold everything that the service account holds. This answer shows the new token. The token is not shown again.",
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
