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
  validityMembers,
} from "../../shared/mail/credentials/credential.ts";
import { updateCredential } from "../../shared/mail/credentials/manage.ts";
import { aheadOfScoped } from "../../shared/mail/scoped/family.ts";

export const route = defineRoute({
  name: "credentials.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/credentials/{credential_id}", etag: credentialKind },
  summary: "Update a master password's name and validity",
  synonyms: [
    "change",
    "edit",
    "update",
    "SMTP",
    "login",
    "name",
    "switch off",
    "disable",
    "enable",
    "expire",
    "expiry",
  ],
  description:
    "Changes the name of a master password, switches it off and on, and sets or removes its expiry. Members that you leave out stay as they are. The change applies to logins at once. If you switch the password off, open sessions end as for `credentials.delete`.",
  capability: "credential.manage",
  subject: credentialInPath,
  access: "write",
  params: CredentialParams,
  body: z
    .strictObject({
      name: CredentialName.optional(),
      active: validityMembers.active,
      expires_at: validityMembers.expires_at.meta({
        description: "When the master password expires. Null removes the expiry.",
      }),
    })
    .meta({ id: "MasterPasswordUpdate", description: "Changes to a master password." }),
  output: Credential,
  ahead: ({ params }, expected) => aheadOfScoped(credentials, params.account_id, params.credential_id, expected),
  run: ({ params, body }, context) => updateCredential(params.account_id, params.credential_id, body, context),
});

export const handler = http(route);
