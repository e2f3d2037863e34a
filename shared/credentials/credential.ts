import * as z from "zod";

import type { Scope } from "../auth/permissions.ts";
import { defineKind } from "../changes/kind.ts";
import { Id, ordinalOf } from "../ids.ts";
import { rowKey, type List } from "../table/ranked-list.ts";
import type { Key } from "../table/writes.ts";
import { visibleText, visibleTextError } from "../text.ts";
import { Timestamp } from "../time.ts";

/*
 * Access patterns
 *   master passwords of an account, oldest first, and one by its id   ACCOUNT#<id> / LIST#credentials
 *   those that apply to a scope, to log in by                         ACCOUNT#<id> / MASTER#<scope type>#<scope id>#<id>
 */
export const credentialsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "credentials" });
export const credentialKey = (accountId: string, id: string): Key =>
  rowKey(credentialsOf(accountId), ordinalOf(id) ?? 2 ** 40);
export const masterKey = (accountId: string, { type, id }: MasterScope, credentialId = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `MASTER#${type}#${id}#${credentialId}`,
});

const ScopeType = z.enum(["account", "workspace", "domain"]);

/** What a master password applies to: every mailbox in it. */
export type MasterScope = { type: z.output<typeof ScopeType>; id: string };

export const CredentialName = z.string().trim().min(1).max(100).regex(visibleText, { error: visibleTextError }).meta({
  description: "What it is called: 1 to 100 characters after trimming.",
});

export const Credential = z
  .object({
    id: Id.meta({ description: "The master password's id." }),
    name: z.string().meta({ description: "What it is called." }),
    scope_type: ScopeType.meta({
      description: "What it applies to: every mailbox of the account, a workspace or a domain.",
    }),
    scope_id: Id.meta({ description: "The id of that." }),
    created_at: Timestamp.meta({ description: "When it was created." }),
    updated_at: Timestamp.meta({ description: "When it last changed." }),
    last_used_at: Timestamp.nullable().meta({
      description: "When it was last logged in by, to a few minutes; null before.",
    }),
  })
  .meta({
    id: "MasterPassword",
    description: "A password for sending mail from every mailbox in its scope. Only its hash is kept.",
  });
export type Credential = z.output<typeof Credential>;

export const StoredCredential = Credential.extend({ version: z.int() });
export type StoredCredential = z.output<typeof StoredCredential>;

/** What one logs in by: apart from what is listed, as it is asked for by scope. */
export const StoredMaster = z.object({ credential_id: z.string(), hash: z.string(), tag: z.string() });

export const credentialKind = defineKind({
  name: "credential",
  verbs: ["created", "updated", "deleted"],
  view: Credential,
  seenWith: "credential.view",
});

/** What a master password is inside of, for grants narrowed to that. */
export const scopesOfCredential = (
  { id, scope_type, scope_id }: Pick<Credential, "id" | "scope_type" | "scope_id">,
  workspaceOfDomain?: string,
): Scope[] => [
  { type: "credential", id },
  ...(scope_type === "account" ? [] : [{ type: scope_type, id: scope_id }]),
  ...(workspaceOfDomain === undefined ? [] : [{ type: "workspace" as const, id: workspaceOfDomain }]),
];

/** How many one scope can have: each is looked at when somebody logs in. */
export const perScope = 50;
