import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf, pageQuery, spanOf } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfRows } from "../../shared/table/ranked-list.ts";
import { listWebhooks, Webhook, webhooksOf } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/webhooks" },
  summary: "List webhooks",
  synonyms: ["notifications", "callbacks", "show"],
  description: "The webhooks of the account, oldest first.",
  capability: "webhook.manage",
  access: "read",
  // The URL of a webhook can contain a credential.
  codeMode: { storesAnswer: false },
  params: AccountParams,
  query: z.strictObject(pageQuery),
  output: pageOf(Webhook, "webhooks").meta({ id: "WebhookListResponse", description: "A page of webhooks." }),
  ahead: ({ params, query }) => aheadOfRows(webhooksOf(params.account_id), spanOf(query)),
  run: async ({ params, query }, { table }) => ({
    ...(await listWebhooks(table, params.account_id, query)),
    ...query,
  }),
});

export const handler = http(route);
