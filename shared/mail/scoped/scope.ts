import * as z from "zod";

import type { Scope } from "../../auth/permissions.ts";
import type { Key } from "../../table/writes.ts";

/*
 * Access patterns
 *   what applies to a scope   ACCOUNT#<id> / <prefix of its kind>#<scope type>#<scope id>#<its id>
 */

export const MailScopeType = z.enum(["account", "workspace", "domain"]);

/** What something applies to: the mail of the account, of a workspace, or of a domain. */
export type MailScope = { type: z.output<typeof MailScopeType>; id: string };

/** Where something stands among what applies to its scope; with no id, where those begin. */
export const scopeKey = (accountId: string, prefix: string, { type, id }: MailScope, ownId = ""): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `${prefix}#${type}#${id}#${ownId}`,
});

/** No id of anything: stands in where there is none. */
const nothing = "00000000-0000-8000-8000-000000000000";

/** The scopes that a domain's mail is in, widest first; of a domain that is not there, scopes that nothing applies to. */
export const scopesAround = (accountId: string, domain?: { id: string; workspace_id: string }): MailScope[] => [
  { type: "account", id: accountId },
  { type: "workspace", id: domain?.workspace_id ?? nothing },
  { type: "domain", id: domain?.id ?? nothing },
];

type Scoped = { id: string; scope_type: MailScope["type"]; scope_id: string };

/** What something that applies to a scope is inside of, for grants narrowed to that; itself first. */
export const scopesOfScoped = (
  type: "credential" | "forwarding",
  { id, scope_type, scope_id }: Scoped,
  workspaceOfDomain?: string,
): Scope[] => [
  { type, id },
  ...(scope_type === "account" ? [] : [{ type: scope_type, id: scope_id }]),
  ...(workspaceOfDomain === undefined ? [] : [{ type: "workspace" as const, id: workspaceOfDomain }]),
];
