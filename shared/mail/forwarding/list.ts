import * as z from "zod";

import { Id } from "../../core/ids.ts";
import { pageQuery } from "../../core/page.ts";
import { domainByRef, aheadOfDomain } from "../../domains/find.ts";
import { DomainRef } from "../../domains/name.ts";
import type { Context, Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { listScoped, aheadOfListed } from "../scoped/list.ts";
import { ForwardingRule, rules, ruleView, type StoredRule } from "./rule.ts";
import { TargetEmail } from "./target.ts";

export const RuleQuery = z.strictObject({
  ...pageQuery,
  domain: DomainRef.optional().meta({ description: "Only rules for this domain, by its name or id." }),
  workspace_id: Id.optional().meta({ description: "Only rules for this workspace." }),
  target_email: TargetEmail.optional().meta({ description: "Only rules that send copies to this address." }),
  active: z.boolean().optional().meta({ description: "Only rules that are active (`true`) or paused (`false`)." }),
  verification_state: ForwardingRule.shape.verification_state
    .optional()
    .meta({ description: "Only rules in this verification state." }),
});
type RuleQuery = z.output<typeof RuleQuery>;

const isFiltered = ({ domain, workspace_id, target_email, active, verification_state }: RuleQuery): boolean =>
  [domain, workspace_id, target_email, active, verification_state].some((given) => given !== undefined);

/** The items that `listRules` reads. */
export function aheadOfRules(accountId: string, query: RuleQuery, expected: Expected): Ahead {
  const listed = aheadOfListed(rules, accountId, query, expected, isFiltered(query));
  const domain = query.domain === undefined ? [] : aheadOfDomain(expected, accountId, query.domain).keys;
  return { ...listed, keys: [...(listed.keys ?? []), ...domain] };
}

/** The predicate for a query; undefined when there is no filter. A rule must match all given filters. */
async function filterOf(accountId: string, query: RuleQuery, { table, now }: Context) {
  const { domain: ref, workspace_id, target_email, active, verification_state } = query;
  if (!isFiltered(query)) return undefined;
  const domain = ref === undefined ? undefined : await domainByRef(table, accountId, ref);
  const at = now();
  return (rule: StoredRule): boolean =>
    (ref === undefined || (rule.scope_type === "domain" && rule.scope_id === domain?.id)) &&
    (workspace_id === undefined || (rule.scope_type === "workspace" && rule.scope_id === workspace_id)) &&
    (target_email === undefined || rule.target_email === target_email) &&
    (active === undefined || rule.active === active) &&
    (verification_state === undefined || ruleView(rule, at).verification_state === verification_state);
}

/** A page of the rules that the principal sees and that match the query, oldest first. */
export async function listRules(
  accountId: string,
  query: RuleQuery,
  context: Context,
): Promise<{ items: ForwardingRule[]; total: number }> {
  const keep = await filterOf(accountId, query, context);
  const { items, total } = await listScoped(rules, accountId, query, context, keep);
  const at = context.now();
  return { items: items.map((rule) => ruleView(rule, at)), total };
}
