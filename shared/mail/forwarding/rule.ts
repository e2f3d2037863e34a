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
const rulePrefix = "FORWARD";
export const targetKey = (accountId: string, scope: MailScope, ruleId = ""): Key =>
  scopeKey(accountId, rulePrefix, scope, ruleId);

const VerificationState = z.enum(["internal", "pending", "verified", "expired"]);

export const ForwardingRule = z
  .object({
    id: Id.meta({ description: "The rule's id." }),
    scope_type: MailScopeType.meta({
      description: "The kind of scope: the rule copies the mail of the account, a workspace or a domain.",
    }),
    scope_id: Id.meta({ description: "The id of the account, workspace or domain." }),
    target_email: z
      .string()
      .meta({ description: "The address that gets the copies, in lower case and with the domain in A-labels." }),
    active: z.boolean().meta({ description: "Whether the rule is active. A paused rule is not." }),
    verification_required: z.boolean().meta({
      description: "Whether the recipient must agree first. It is false for a mailbox of the account.",
    }),
    verification_state: VerificationState.meta({
      description:
        "The state of the recipient's agreement. `internal`: the target is a mailbox of the account. `pending`: the recipient has not agreed yet. `verified`: the recipient agreed. `expired`: the recipient did not agree in time, or the mail was refused. Ask an expired recipient again with `forwarding.verification.send`. A rule sends copies while it is active, and `internal` or `verified`.",
    }),
    status_reason: z.string().nullable().meta({
      description: "Why the recipient got no mail, and what to do; null if a mail was sent or none is needed.",
    }),
    verification_sent_at: Timestamp.nullable().meta({
      description:
        "When the mail server accepted the last mail to the recipient; null if there was none, or if it was refused.",
    }),
    verification_expires_at: Timestamp.nullable().meta({ description: "When the link in the last mail expires." }),
    verification_verified_at: Timestamp.nullable().meta({ description: "When the recipient agreed; null before." }),
    created_at: Timestamp.meta({ description: "When the rule was created." }),
    updated_at: Timestamp.meta({ description: "When the rule last changed." }),
  })
  .meta({ id: "ForwardingRule", description: "A rule that sends copies of the mail of a scope to another address." });
export type ForwardingRule = z.output<typeof ForwardingRule>;

export const StoredRule = ForwardingRule.extend({
  verification_state: VerificationState.exclude(["expired"]),
  /**
   * For an `internal` rule: the id of the account's domain that the target is in. A later domain with the same name
   * does not count.
   */
  target_domain_id: z.string().optional(),
  version: z.int(),
});
export type StoredRule = z.output<typeof StoredRule>;

/** The target of a rule, stored a second time for the lookup when mail arrives. `flows`: the rule sends copies. */
export const StoredTarget = z.object({
  rule_id: z.string(),
  target_email: z.string(),
  /** For an `internal` rule only. */
  target_domain_id: z.string().optional(),
  flows: z.boolean(),
});
export type StoredTarget = z.output<typeof StoredTarget>;

export const rules: Family<StoredRule> = {
  type: "forwarding",
  noun: "forwarding rules",
  view: "forwarding.view",
  list: (accountId) => ({ partition: `ACCOUNT#${accountId}`, name: "forwarding" }),
  prefix: rulePrefix,
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

/** The API view of a rule at a time. If its recipient did not agree in time, the rule is `expired`. */
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
export const targetWrite = (accountId: string, rule: StoredRule): Write => ({
  put: {
    ...targetKey(accountId, scopeOf(rule), rule.id),
    rule_id: rule.id,
    target_email: rule.target_email,
    target_domain_id: rule.target_domain_id,
    flows: rule.active && rule.verification_state !== "pending",
  },
});
