import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";
import { CredentialParams, credentialInPath, credentialKind } from "../../shared/mail/credentials/credential.ts";
import { deleteCredential } from "../../shared/mail/credentials/manage.ts";

export const route = defineRoute({
  name: "credentials.delete",
  method: "DELETE",
  path: "/v1/public/accounts/{account_id}/credentials/{credential_id}",
  summary: "Delete a master password",
  description: "Nobody logs in by it from then on.",
  capability: "credential.manage",
  subject: credentialInPath,
  etag: credentialKind,
  access: "write",
  params: CredentialParams,
  output: Empty,
  run: async ({ params }, context) => {
    await deleteCredential(params.account_id, params.credential_id, context);
    return {};
  },
});

export const handler = http(route);
