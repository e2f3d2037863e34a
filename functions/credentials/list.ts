import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { Credential } from "../../shared/mail/credentials/credential.ts";
import { listCredentials } from "../../shared/mail/credentials/manage.ts";

export const route = defineRoute({
  name: "credentials.list",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/credentials",
  summary: "List master passwords",
  description: "The master passwords the caller may see, oldest first, without what one logs in with.",
  capability: "credential.view",
  scope: "visible",
  access: "read",
  params: AccountParams,
  query: z.strictObject(pageQuery),
  output: pageOf(Credential, "master passwords").meta({
    id: "MasterPasswordListResponse",
    description: "A page of master passwords.",
  }),
  run: async ({ params, query }, context) => ({
    ...(await listCredentials(params.account_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
