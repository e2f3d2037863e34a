import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import {
  Credential,
  CredentialParams,
  credentialInPath,
  credentialKind,
  credentials,
} from "../../shared/mail/credentials/credential.ts";
import { aheadOfScoped } from "../../shared/mail/scoped/family.ts";

export const route = defineRoute({
  name: "credentials.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/credentials/{credential_id}", etag: credentialKind },
  summary: "Read a master password",
  synonyms: ["SMTP", "login", "show", "details"],
  description:
    "Reads a master password's name, scope and validity. The password itself is not shown, because only its hash is stored.",
  capability: "credential.view",
  subject: credentialInPath,
  access: "read",
  params: CredentialParams,
  output: Credential,
  ahead: ({ params }, expected) => aheadOfScoped(credentials, params.account_id, params.credential_id, expected),
  run: async ({ found }) => found,
});

export const handler = http(route);
