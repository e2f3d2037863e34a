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
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/credentials/{credential_id}", etag: credentialKind },
  summary: "Read a master password",
  description:
    "Reads a master password's name and scope. The password itself is never shown, because only its hash is stored.",
  capability: "credential.view",
  subject: credentialInPath,
  access: "read",
  params: CredentialParams,
  output: Credential,
  run: async ({ found }) => found,
});

export const handler = http(route);
