import { change } from "../../changes/kind.ts";
import type { Context, Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { MailScope } from "../scoped/family.ts";
import {
  planScopedPurge,
  planScopedRemoval,
  type Purge,
  type PlanDependents,
  aheadOfRemoval,
} from "../scoped/remove.ts";
import { currentRule } from "./manage.ts";
import { proofDeletion, getProofs, proofKey } from "./proof.ts";
import { ruleKind, rules, ruleView, type StoredRule, targetPrefixes, targetsOf } from "./rule.ts";

type RemovalContext = { table: Reader; accountId: string; now: Date };

/** Plans the deletion of the proofs of deleted rules, and the changes to record. */
const withProofs =
  ({ table, accountId, now }: RemovalContext): PlanDependents<StoredRule> =>
  async (gone) => {
    const writes = await Promise.all(
      gone.map(async (rule) => {
        const slots = targetsOf(rule).map(({ slot }) => slot);
        const proofs = await getProofs(table, accountId, rule.id, slots);
        return [...proofs].map(([slot, proof]) => proofDeletion(accountId, rule.id, slot, proof));
      }),
    );
    return {
      writes: writes.flat(),
      changes: gone.map((before) => change(ruleKind, "deleted", before.id, { before: ruleView(before, now) })),
    };
  };

/**
 * Plans the deletion of the first few rules of a scope that is being deleted. The rules of a domain include the rules
 * of its addresses. `isAll` is true if the plan deletes all rules that are left.
 */
export async function planRulePurge(place: RemovalContext, scope: MailScope): Promise<Purge> {
  const prefixes = targetPrefixes(place.accountId, scope);
  const planned = await Promise.all(prefixes.map((prefix) => planScopedPurge(rules, place, prefix, withProofs(place))));
  const [first, ...others] = planned.filter(({ writes }) => writes.length > 0);
  if (!first) return { isAll: true, writes: [], changes: [] };
  return { ...first, isAll: first.isAll && others.length === 0 };
}

/** Items that `deleteRule` reads. */
export const aheadOfRuleRemoval = (accountId: string, id: string, expected: Expected): Ahead =>
  aheadOfRemoval(rules, accountId, id, expected, [proofKey(accountId, id)]);

/**
 * Deletes a rule. No copies are sent from then on, and the links and codes of its recipients stop working. Throws 404
 * if the account does not have the rule.
 */
export async function deleteRule(accountId: string, id: string, { table, commit, now }: Context): Promise<void> {
  for (let isMore = true; isMore;) {
    isMore = await commit(async () => {
      const place = { table, accountId, now: now() };
      const rule = await currentRule(table, accountId, id);
      const { isAll, ...planned } = await planScopedRemoval(rules, place, [rule], withProofs(place));
      return { value: !isAll, ...planned, current: ruleView(rule, place.now), partial: !isAll };
    });
  }
}
