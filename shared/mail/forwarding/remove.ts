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
import { endedWrites, getProof, proofKey } from "./proof.ts";
import { ruleKind, rules, ruleView, type StoredRule } from "./rule.ts";

type RemovalContext = { table: Reader; accountId: string; now: Date };

/** Deletes the proofs together with their rules. */
const withProofs =
  ({ table, accountId, now }: RemovalContext): PlanDependents<StoredRule> =>
  async (gone) => {
    const proofs = await Promise.all(gone.map(({ id }) => getProof(table, accountId, id)));
    return {
      writes: gone.flatMap(({ id }, index) => endedWrites(accountId, id, proofs[index])),
      changes: gone.map((before) => change(ruleKind, "deleted", before.id, { before: ruleView(before, now) })),
    };
  };

/** Plans the deletion of the first few rules of a scope that is being deleted; `isAll` when no others are left. */
export const planRulePurge = (place: RemovalContext, scope: MailScope): Promise<Purge> =>
  planScopedPurge(rules, place, scope, withProofs(place));

/** The items that `deleteRule` reads. */
export const aheadOfRuleRemoval = (accountId: string, id: string, expected: Expected): Ahead =>
  aheadOfRemoval(rules, accountId, id, expected, [proofKey(accountId, id)]);

/** Deletes a rule. No copies are sent from then on, and its link and code stop working. Throws 404. */
export async function deleteRule(accountId: string, id: string, { table, commit, now }: Context): Promise<void> {
  for (let isMore = true; isMore;) {
    isMore = await commit(async () => {
      const place = { table, accountId, now: now() };
      const rule = await currentRule(table, accountId, id);
      const { isAll, ...planned } = await planScopedRemoval(rules, place, [rule], withProofs(place));
      return { value: !isAll, ...planned, current: ruleView(rule, place.now) };
    });
  }
}
