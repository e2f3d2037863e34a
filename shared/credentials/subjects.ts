import * as z from "zod";

import { noSuchDomain } from "../domains/domain.ts";
import { domainById, domainByRef, scopesOfDomain } from "../domains/find.ts";
import { Id } from "../ids.ts";
import type { Subject } from "../route.ts";
import type { Reader } from "../table/table.ts";
import { findWorkspace } from "../workspaces.ts";
import { credentialKey, scopesOfCredential, StoredCredential, type MasterScope } from "./credential.ts";

export const CredentialParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  credential_id: Id.meta({ description: "The master password's id." }),
});

type ScopeInput = {
  params: { account_id: string };
  body: { domain?: string | undefined; workspace_id?: string | undefined };
};

/** What the body of a route narrows something to: a domain, a workspace, or nothing, which is the account. */
export const scopeInBody: Subject<ScopeInput, MasterScope> = {
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

export async function credentialById(
  table: Reader,
  accountId: string,
  id: string,
): Promise<StoredCredential | undefined> {
  const credential = await table.get(credentialKey(accountId, id), StoredCredential);
  return credential?.id === id ? credential : undefined;
}

/** The master password in the path of a route. */
export const credentialInPath: Subject<{ params: z.output<typeof CredentialParams> }, StoredCredential> = {
  at: "path",
  find: async ({ params: { account_id, credential_id } }, table) => {
    const thing = await credentialById(table, account_id, credential_id);
    if (!thing) return undefined;
    const domain = thing.scope_type === "domain" ? await domainById(table, account_id, thing.scope_id) : undefined;
    return { id: thing.id, scopes: scopesOfCredential(thing, domain?.workspace_id), thing };
  },
};
