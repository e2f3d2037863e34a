import * as z from "zod";

import { covers } from "../../shared/auth/permissions.ts";
import { invalidAt, Problem } from "../../shared/core/errors.ts";
import { Id } from "../../shared/core/ids.ts";
import { Domain } from "../../shared/domains/domain.ts";
import { domainInPath, DomainParams } from "../../shared/domains/find.ts";
import { moveDomain, aheadOfDomainMove } from "../../shared/domains/setup/move.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute, type Context } from "../../shared/http/route.ts";
import { workspaceCheck, noSuchWorkspace } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "domains.move",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/domains/{domain}/move" },
  summary: "Move a domain to another workspace",
  synonyms: ["transfer", "put", "different", "team", "department", "change"],
  description:
    "Moves the domain, with everything in it, to another workspace of the same account. Grants, master passwords and forwarding rules of the former workspace then no longer apply to the domain. Those of the target workspace apply at once. Open sessions of the domain's mailboxes end. You need `domain.move` on the domain and on the target workspace.",
  capability: "domain.move",
  subject: domainInPath,
  access: "write",
  usesPermissions: true,
  params: DomainParams,
  body: z
    .strictObject({ workspace_id: Id.meta({ description: "The target workspace." }) })
    .meta({ id: "DomainMove", description: "The target of the move." }),
  output: Domain,
  problems: ["domain_not_ready"],
  ahead: ({ params, body }, expected) => aheadOfDomainMove(params, body.workspace_id, expected),
  // If the target workspace was deleted after the move, the caller needs no permission on it. So a repeat still gets
  // the stored answer.
  checkRepeat: async ({ params, body }, context) => {
    if (await workspaceCheck(context.table, params.account_id, body.workspace_id))
      await requireTarget(params.account_id, body.workspace_id, context);
  },
  run: async ({ params, body, found }, context) => {
    await requireTarget(params.account_id, body.workspace_id, context);
    return moveDomain(found, body.workspace_id, context);
  },
});

type Viewer = Pick<Context, "table" | "permissions">;

/** Requires that the target workspace exists, and that the caller may see it and move domains to it. */
async function requireTarget(accountId: string, id: string, { table, permissions }: Viewer): Promise<void> {
  const target = [{ type: "workspace" as const, id }];
  const exists = (await workspaceCheck(table, accountId, id)) !== undefined;
  const mayMove = covers(permissions, "domain.move", target);
  if (exists && mayMove) return;
  if (!exists || !covers(permissions, "workspace.view", target)) {
    throw invalidAt(["body", "workspace_id"], noSuchWorkspace, "not_found");
  }
  throw new Problem("forbidden", "The move needs the capability domain.move on the target workspace.", {
    required_capability: "domain.move",
  });
}

export const handler = http(route);
