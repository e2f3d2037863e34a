import * as z from "zod";

import { covers } from "../../shared/auth/permissions.ts";
import { InvalidInput, Problem } from "../../shared/core/errors.ts";
import { Id } from "../../shared/core/ids.ts";
import { Domain } from "../../shared/domains/domain.ts";
import { domainInPath, DomainParams } from "../../shared/domains/find.ts";
import { moveDomain } from "../../shared/domains/setup/move.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute, type Context } from "../../shared/http/route.ts";
import { findWorkspace, noSuchWorkspace } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "domains.move",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/domains/{domain}/move",
  summary: "Move a domain to another workspace",
  description:
    "Of the same account, with everything in it. Takes `domain.move` on the domain and on the workspace it comes into.",
  capability: "domain.move",
  subject: domainInPath,
  access: "write",
  params: DomainParams,
  body: z
    .strictObject({ workspace_id: Id.meta({ description: "The workspace it comes into." }) })
    .meta({ id: "DomainMove", description: "Where a domain moves to." }),
  output: Domain,
  problems: ["domain_not_ready"],
  run: async ({ params, body, found }, context) => {
    await requireTarget(params.account_id, body.workspace_id, context);
    return moveDomain(found, body.workspace_id, context);
  },
});

/** Requires the target workspace to exist, and the caller to see it and be allowed to move domains there. */
async function requireTarget(accountId: string, id: string, { table, permissions }: Context): Promise<void> {
  const target = [{ type: "workspace" as const, id }];
  const isThere = (await findWorkspace(table, accountId, id)) !== undefined;
  const mayMove = covers(permissions, "domain.move", target);
  if (isThere && mayMove) return;
  if (!isThere || !covers(permissions, "workspace.view", target)) {
    throw new InvalidInput([{ loc: ["body", "workspace_id"], msg: noSuchWorkspace, type: "not_found" }]);
  }
  throw new Problem("forbidden", "This needs the capability domain.move on the workspace it comes into.", {
    required_capability: "domain.move",
  });
}

export const handler = http(route);
