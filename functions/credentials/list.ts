import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { Credential, credentials } from "../../shared/mail/credentials/credential.ts";
import { listCredentials } from "../../shared/mail/credentials/manage.ts";
import { aheadOfListed } from "../../shared/mail/scoped/list.ts";

export const route = defineRoute({
  name: "credentials.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/credentials" },
  summary: "List master passwords",
  synonyms: ["SMTP", "logins", "show", "apps", "devices"],
  description: "Lists the master passwords that you may see, oldest first. The passwords themselves are not shown.",
  capability: "credential.view",
  scope: "visible",
  access: "read",
  params: AccountParams,
  query: z.strictObject(pageQuery),
  output: pageOf(Credential, "master passwords").meta({
    id: "MasterPasswordListResponse",
    description: "A page of master passwords.",
  }),
  ahead: ({ params, query }, expected) => aheadOfListed(credentials, params.account_id, query, expected),
  run: async ({ params, query }, context) => ({
    ...(await listCredentials(params.account_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
