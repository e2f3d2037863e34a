import * as z from "zod";

import { Id } from "../../core/ids.ts";
import { pageQuery } from "../../core/page.ts";
import { domainByRef, aheadOfDomain, aheadOfName } from "../../domains/find.ts";
import { DomainRef } from "../../domains/name.ts";
import type { Context, Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { aheadOfMailbox, mailboxByRef } from "../mailboxes/find.ts";
import { MailboxRef, readAddress } from "../mailboxes/local-part.ts";
import { domainIdOf } from "../scoped/family.ts";
import { listScoped, aheadOfListed } from "../scoped/list.ts";
import { AddressPattern } from "./pattern.ts";
import { ForwardingRule, rules, RuleScopeType, ruleView, stateAt, type StoredRule, targetsOf } from "./rule.ts";
import { TargetEmail } from "./target.ts";

export const RuleQuery = z.strictObject({
  ...pageQuery,
  scope_type: RuleScopeType.optional().meta({ description: "Only rules with this kind of scope." }),
  domain: DomainRef.optional().meta({
    description: "Only rules for this domain, for its mailboxes and for its addresses. Give the domain's name or id.",
  }),
  workspace_id: Id.optional().meta({
    description:
      "Only rules for this workspace as a whole. Rules for its domains, mailboxes and addresses are found by `domain`.",
  }),
  mailbox: MailboxRef.optional().meta({ description: "Only rules for this mailbox, by its id or address." }),
  address: AddressPattern.optional().meta({
    description:
      "Only rules for addresses without a mailbox, whose local part (the part before the @) or pattern is exactly this.",
  }),
  target_email: TargetEmail.optional().meta({ description: "Only rules that have this target." }),
  active: z.boolean().optional().meta({ description: "Only rules that are active (`true`) or paused (`false`)." }),
  keep_copy: z
    .boolean()
    .optional()
    .meta({ description: "Only rules that keep a copy (`true`), or that keep none (`false`)." }),
  verification_state: ForwardingRule.shape.verification_state
    .optional()
    .meta({ description: "Only rules with a target in this verification state." }),
});
type RuleQuery = z.output<typeof RuleQuery>;

const isFiltered = ({ page: _, page_size: __, ...filters }: RuleQuery): boolean =>
  Object.values(filters).some((given) => given !== undefined);

/** The items that `listRules` reads. */
export function aheadOfRules(accountId: string, query: RuleQuery, expected: Expected): Ahead {
  const listed = aheadOfListed(rules, accountId, query, expected, isFiltered(query));
  const ref = query.domain;
  const domain =
    ref === undefined
      ? []
      : [...aheadOfName(expected, accountId, ref), ...aheadOfDomain(expected, accountId, ref).keys];
  const isByAddress = query.mailbox !== undefined && readAddress(query.mailbox) !== undefined;
  const mailbox = isByAddress ? aheadOfMailbox(expected, accountId, query.mailbox ?? "").keys : [];
  return { ...listed, keys: [...(listed.keys ?? []), ...domain, ...mailbox] };
}

/** The id of the mailbox that a filter names. The rules of a deleted mailbox are found by the mailbox's id. */
async function mailboxIdOf(accountId: string, ref: string, { table }: Context): Promise<string | undefined> {
  return readAddress(ref) ? (await mailboxByRef(table, accountId, ref))?.mailbox.id : ref;
}

/** Whether a rule is for the scope with this type and id. */
const isScope = ({ scope_type, scope_id }: StoredRule, type: string, id: string): boolean =>
  scope_type === type && scope_id === id;

/** The predicate for a query; undefined when there is no filter. A rule must match all given filters. */
async function filterOf(accountId: string, query: RuleQuery, context: Context) {
  if (!isFiltered(query)) return undefined;
  const { domain: ref, workspace_id, mailbox: mailboxRef, target_email, verification_state } = query;
  const [domain, mailboxId] = await Promise.all([
    ref === undefined ? undefined : domainByRef(context.table, accountId, ref),
    mailboxRef === undefined ? undefined : mailboxIdOf(accountId, mailboxRef, context),
  ]);
  const at = context.now();
  const same = ["scope_type", "address", "active", "keep_copy"] as const;
  return (rule: StoredRule): boolean =>
    same.every((member) => query[member] === undefined || query[member] === rule[member]) &&
    (ref === undefined || (domain !== undefined && domainIdOf(rule) === domain.id)) &&
    (workspace_id === undefined || isScope(rule, "workspace", workspace_id)) &&
    (mailboxRef === undefined || (mailboxId !== undefined && isScope(rule, "mailbox", mailboxId))) &&
    (target_email === undefined || targetsOf(rule).some(({ email }) => email === target_email)) &&
    (verification_state === undefined || targetsOf(rule).some((target) => stateAt(target, at) === verification_state));
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
