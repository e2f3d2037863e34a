import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import {
  Credential,
  CredentialName,
  credentials,
  passwordRules,
  validityMembers,
  weakness,
} from "../../shared/mail/credentials/credential.ts";
import { addCredential } from "../../shared/mail/credentials/manage.ts";
import { loginWork } from "../../shared/mail/mailboxes/services.ts";
import { aheadOfPlace } from "../../shared/mail/scoped/add.ts";
import { scopeInBody, scopeMembers } from "../../shared/mail/scoped/family.ts";
import { planRequired } from "../../shared/wallet/state.ts";

const [shortest, longest] = [12, 256];

const Value = z
  .string()
  .min(shortest)
  .max(longest)
  .superRefine((value, context) => {
    const weak = weakness(value);
    const hasValidLength = value.length >= shortest && value.length <= longest;
    if (!weak || !hasValidLength) return;
    const { message, type } = weak;
    context.addIssue({ code: "custom", message, params: { type } });
  })
  .meta({
    description: `The password that you choose, instead of \`generate\`: 12 to 256 characters, ${passwordRules}. A password that is too simple gets a 422 with the error type \`password_too_simple\`.`,
  });

export const route = defineRoute({
  name: "credentials.add",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/credentials",
    status: 201,
    location: "/v1/public/accounts/{account_id}/credentials/{id}",
  },
  summary: "Create a master password",
  synonyms: ["new", "SMTP", "login", "app", "application", "device", "printer", "scanner", "website", "send"],
  description:
    "Creates a password for sending mail from every mailbox of a domain or a workspace. Without a domain or a workspace, the password is for the whole account. Log in by SMTP. The user name is the address of the mailbox to send from, or one of its aliases. The password does not work for IMAP or POP3, for a paused mailbox, or before the domain can send mail. A domain, a workspace or the account itself has 50 master passwords at most, and an account has 1,000 in all. Only the hash of the password is stored. A generated password is shown in this answer only.",
  capability: "credential.manage",
  subject: scopeInBody,
  access: "write",
  requires: planRequired,
  lambda: { uses: ["secrets"] },
  shownOnce: ["generated_secret"],
  limit: "sensitive",
  params: AccountParams,
  body: z
    .strictObject({
      name: CredentialName,
      generate: z.boolean().default(false).meta({ description: "Whether the service generates the password." }),
      value: Value.optional(),
      ...validityMembers,
      ...scopeMembers,
    })
    .superRefine(({ generate, value, domain, workspace_id }, context) => {
      const complain = (member: string, message: string) =>
        context.addIssue({ code: "custom", path: [member], message });
      if (generate && value !== undefined) complain("value", "Give either a value or generate: true, not both");
      if (!generate && value === undefined) complain("value", "Give a value or generate: true");
      if (domain !== undefined && workspace_id !== undefined)
        complain("workspace_id", "Give either a domain or a workspace, not both");
    })
    .meta({
      id: "MasterPasswordCreate",
      description: "A new master password.",
      examples: [{ name: "Office printer", generate: true }],
    }),
  output: Credential.extend({
    generated_secret: z
      .string()
      .optional()
      .meta({ description: "The generated password. It is shown in this answer only." }),
  }).meta({ id: "MasterPasswordWithSecret", description: "A new master password." }),
  problems: ["domain_not_ready", "limit_reached", "upstream_unavailable"],
  ahead: (input, expected) => ({ keys: aheadOfPlace(credentials, input, expected), again: true }),
  run: async ({ params, body, found: scope }, context) => {
    const { name, value, active, expires_at } = body;
    return addCredential(params.account_id, { name, scope, value, active, expires_at }, context, loginWork());
  },
});

export const handler = http(route);
