import { InvalidInput } from "../../core/errors.ts";
import { Id } from "../../core/ids.ts";
import { noSuchDomain } from "../../domains/domain.ts";
import { domainByRef, scopesOfDomain } from "../../domains/find.ts";
import { DomainRef } from "../../domains/name.ts";
import type { Subject } from "../../http/route.ts";
import { findWorkspace } from "../../workspaces/workspaces.ts";
import type { MailScope } from "./scope.ts";

/** The members of a body that say what something applies to; with neither of them, to the whole account. */
export const scopeMembers = {
  domain: DomainRef.optional().meta({ description: "The domain it is for, by its name or id." }),
  workspace_id: Id.optional().meta({ description: "The workspace it is for." }),
};

type ScopeBody = { domain?: string | undefined; workspace_id?: string | undefined };
type ScopeInput = { params: { account_id: string }; body: ScopeBody };

/** What the body of a route narrows something to: a domain, a workspace, or nothing, which is the account. */
export const scopeInBody: Subject<ScopeInput, MailScope> = {
  within: ["domain", "workspace"],
  at: ({ body }) => ["body", body.domain === undefined ? "workspace_id" : "domain"],
  missing: noSuchDomain.replace("domain", "domain or workspace"),
  find: async ({ params: { account_id }, body }, table) => {
    if (body.domain !== undefined) {
      const domain = await domainByRef(table, account_id, body.domain);
      return domain && { id: domain.id, scopes: scopesOfDomain(domain), thing: { type: "domain", id: domain.id } };
    }
    const { workspace_id: id } = body;
    if (id === undefined) return { id: account_id, scopes: [], thing: { type: "account", id: account_id } };
    const scope = { type: "workspace" as const, id };
    return (await findWorkspace(table, account_id, id)) && { id, scopes: [scope], thing: scope };
  },
};

/** 422 for a body that names a domain and a workspace. */
export function requireOneScope({ domain, workspace_id }: ScopeBody): void {
  if (domain === undefined || workspace_id === undefined) return;
  const msg = "Give either a domain or a workspace";
  throw new InvalidInput([{ loc: ["body", "workspace_id"], msg, type: "value_error" }]);
}
