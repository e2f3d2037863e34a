import * as z from "zod";

import {
  aheadOfRenaming,
  renameServiceAccount,
  ServiceAccount,
  ServiceAccountName,
  ServiceAccountParams,
} from "../../../shared/access/service-account.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.service_accounts.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/auth/service-accounts/{service_account_id}" },
  summary: "Rename a service account",
  synonyms: ["API key", "change", "edit", "name", "robot", "bot", "integration"],
  description: "The service account's tokens, grants and groups stay as they are.",
  capability: "auth.manage",
  access: "write",
  params: ServiceAccountParams,
  body: z
    .strictObject({ name: ServiceAccountName })
    .meta({ id: "ServiceAccountUpdate", description: "The service account's new name." }),
  output: ServiceAccount,
  ahead: ({ params }) => aheadOfRenaming(params.account_id, params.service_account_id),
  run: ({ params, body }, context) =>
    renameServiceAccount(params.account_id, params.service_account_id, body.name, context),
});

export const handler = http(route);
