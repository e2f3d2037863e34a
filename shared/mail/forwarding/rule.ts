import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";
import { Timestamp } from "../../core/time.ts";
import type { Key, Write } from "../../table/writes.ts";
import { type Family, type MailScope, MailScopeType, scopeKey, scopedInPath } from "../scoped/family.ts";

/*
 * Access patterns
 *   forwarding rules of an account, oldest first, and one by its id   ACCOUNT#<id> / LIST#forwarding
 *   the targets of the rules of a scope                               ACCOUNT#<id> / FORWARD#<scope type>#<scope id>#<id>
 */
const prefix = "FORWARD";
export const placeKey = (accountId: string, scope: MailScope, ruleId = ""): Key =>
  scopeKey(accountId, prefix, scope, ruleId);

const State = z.enum(["internal", "pending", "verified", "expired"]);

export const ForwardingRule = z
  .object({
    id: Id.meta({ description: "The rule's id." }),
    scope_type: MailScopeType.meta({
      description: "Whose mail it is about: that of the account, a workspace or a domain.",
    }),
    scope_id: Id.meta({ description: "The id of that." }),
    target_email: z.string().meta({ description: "Where copies go: an address, in its one spelling." }),
    active: z.boolean().meta({ description: "Whether it is switched on." }),
    verification_required: z.boolean().meta({
      description: "Whether whoever reads the target's mail has to agree first: not for a mailbox of one's own.",
    }),
    verification_state: State.meta({
      description:
        "`internal` is a mailbox of the account. `pending` waits for the recipient; `expired` waited too long or cannot be written to, and can be asked again. Copies go out when it is active and `internal` or `verified`.",
    }),
    status_reason: z.string().nullable().meta({
      description:
        "Why no mail went out to the recipient, and what to do, for people; null when one did or none is needed.",
    }),
    verification_sent_at: Timestamp.nullable().meta({
      description: "When the last mail to the recipient was sent off; null when none was, or when it was refused.",
    }),
    verification_expires_at: Timestamp.nullable().meta({ description: "Until when its link can be followed." }),
    verification_verified_at: Timestamp.nullable().meta({ description: "When the recipient agreed." }),
    created_at: Timestamp.meta({ description: "When it was created." }),
    updated_at: Timestamp.meta({ description: "When it last changed." }),
  })
  .meta({ id: "ForwardingRule", description: "Copies of the mail of a scope, to another address." });
export type ForwardingRule = z.output<typeof ForwardingRule>;

export const StoredRule = ForwardingRule.extend({
  verification_state: State.exclude(["expired"]),
  /**
   * For an `internal` rule: the id of the account's domain that the target is in. A later domain with the same name
   * does not count.
   */
  target_domain_id: z.string().optional(),
  version: z.int(),
});
export type StoredRule = z.output<typeof StoredRule>;

/** The target of a rule, in the form that arriving mail looks up. It is stored apart from the listed rule. */
export const StoredPlace = z.object({
  rule_id: z.string(),
  target_email: z.string(),
  /** For an `internal` rule only. */
  target_domain_id: z.string().optional(),
  flows: z.boolean(),
});
export type StoredPlace = z.output<typeof StoredPlace>;

export const rules: Family<StoredRule> = {
  type: "forwarding",
  noun: "forwarding rules",
  view: "forwarding.view",
  list: (accountId) => ({ partition: `ACCOUNT#${accountId}`, name: "forwarding" }),
  prefix,
  parse: (row) => StoredRule.parse(row),
  perScope: 20,
  perAccount: 1_000,
};

export const RuleParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  forwarding_id: Id.meta({ description: "The rule's id." }),
});

/** The rule in the path of a route. */
export const ruleInPath = scopedInPath(rules, "forwarding_id");

export const ruleKind = defineKind({
  name: "forwarding",
  verbs: [
    "created",
    "updated",
    "paused",
    "resumed",
    "verification_requested",
    "verification_failed",
    "verified",
    "deleted",
  ],
  view: ForwardingRule,
  seenWith: "forwarding.view",
});

/** The API view of a rule at a time. A rule that nobody agreed to in time is `expired`. */
export function ruleView(rule: StoredRule, now: Date): ForwardingRule {
  const { verification_state, verification_expires_at } = rule;
  const isLate = verification_expires_at !== null && verification_expires_at <= now.toISOString();
  return ForwardingRule.parse({
    ...rule,
    verification_state: verification_state === "pending" && isLate ? "expired" : verification_state,
  });
}

/** Whether a rule waits for the agreement of this recipient. */
export const isWaitingFor = (rule: StoredRule, target: string): boolean =>
  rule.target_email === target && rule.verification_state === "pending";

export const scopeOf = ({ scope_type, scope_id }: Pick<StoredRule, "scope_type" | "scope_id">): MailScope => ({
  type: scope_type,
  id: scope_id,
});

/** The write that stores a rule's target for arriving mail. */
export const placeWrite = (accountId: string, rule: StoredRule): Write => ({
  put: {
    ...placeKey(accountId, scopeOf(rule), rule.id),
    rule_id: rule.id,
    target_email: rule.target_email,
    target_domain_id: rule.target_domain_id,
    flows: rule.active && rule.verification_state !== "pending",
  },
});
