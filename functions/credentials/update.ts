import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import {
  Credential,
  CredentialName,
  CredentialParams,
  credentialInPath,
  credentialKind,
  credentials,
} from "../../shared/mail/credentials/credential.ts";
import { renameCredential } from "../../shared/mail/credentials/manage.ts";
import { aheadOfScoped } from "../../shared/mail/scoped/family.ts";

export const route = defineRoute({
  name: "credentials.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/credentials/{credential_id}", etag: credentialKind },
  summary: "Rename a master password",
  synonyms: ["change", "edit", "SMTP", "login", "name"],
  capability: "credential.manage",
  subject: credentialInPath,
  access: "write",
  params: CredentialParams,
  body: z
    .strictObject({ name: CredentialName })
    .meta({ id: "MasterPasswordUpdate", description: "The new name of a master password." }),
  output: Credential,
  ahead: ({ params }, expected) => aheadOfScoped(credentials, params.account_id, params.credential_id, expected),
  run: ({ params, body }, context) => renameCredential(params.account_id, params.credential_id, body.name, context),
});

export const handler = http(route);
