import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import {
  Credential,
  CredentialParams,
  credentialInPath,
  credentialKind,
} from "../../shared/mail/credentials/credential.ts";

export const route = defineRoute({
  name: "credentials.get",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/credentials/{credential_id}",
  summary: "Read a master password",
  description: "Without what one logs in with: only its hash is kept.",
  capability: "credential.view",
  subject: credentialInPath,
  etag: credentialKind,
  access: "read",
  params: CredentialParams,
  output: Credential,
  run: async ({ found }) => found,
});

export const handler = http(route);
