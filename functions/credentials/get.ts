import { Credential, credentialKind } from "../../shared/credentials/credential.ts";
import { credentialInPath, CredentialParams } from "../../shared/credentials/subjects.ts";
import { http } from "../../shared/http.ts";
import { defineRoute } from "../../shared/route.ts";

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
