import { credentialKind } from "../../shared/credentials/credential.ts";
import { deleteCredential } from "../../shared/credentials/manage.ts";
import { credentialInPath, CredentialParams } from "../../shared/credentials/subjects.ts";
import { http } from "../../shared/http.ts";
import { defineRoute, Empty } from "../../shared/route.ts";

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
