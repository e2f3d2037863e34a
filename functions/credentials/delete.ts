import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";
import {
  CredentialParams,
  credentialInPath,
  credentialKind,
  credentials,
} from "../../shared/mail/credentials/credential.ts";
import { deleteCredential } from "../../shared/mail/credentials/manage.ts";
import { aheadOfRemoval } from "../../shared/mail/scoped/remove.ts";

export const route = defineRoute({
  name: "credentials.delete",
  http: {
    method: "DELETE",
    path: "/v1/public/accounts/{account_id}/credentials/{credential_id}",
    etag: credentialKind,
  },
  summary: "Delete a master password",
  synonyms: ["remove", "SMTP", "login", "revoke"],
  description:
    "Deletes the master password and the grants on it. Logins with it fail from then on. Open sessions end: for a password of a domain, the sessions of all mailboxes of the domain, and for every other password, the sessions of all mailboxes of the account.",
  capability: "credential.manage",
  subject: credentialInPath,
  access: "write",
  params: CredentialParams,
  output: Empty,
  ahead: ({ params }, expected) => aheadOfRemoval(credentials, params.account_id, params.credential_id, expected),
  run: async ({ params }, context) => {
    await deleteCredential(params.account_id, params.credential_id, context);
    return {};
  },
});

export const handler = http(route);
