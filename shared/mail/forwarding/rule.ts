import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";
import { Timestamp } from "../../core/time.ts";
import { rangeOfRows } from "../../table/ranked-list.ts";
import { rewriteRows } from "../../table/rewrite.ts";
import type { Table } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import {
  addressPrefixes,
  type Family,
  type MailScope,
  MailScopeType,
  scopeKey,
  scopedInPath,
} from "../scoped/family.ts";
import { targetLimit } from "./target.ts";

/*
 * Access patterns
 *   rules of an account, oldest first, and one by its id   ACCOUNT#<id> / LIST#forwarding
 *   the targets of the rules of a scope                    ACCOUNT#<id> / FORWARD#<scope type>#<scope id>#<id>
 *   the targets of the rules of an address                 ACCOUNT#<id> / FORWARD#address#<domain id>#<local part>#<id>
 *   the targets of the rules of a domain's patterns        ACCOUNT#<id> / FORWARD#pattern#<domain id>#<id>
 */
const rulePrefix = "FORWARD";
export const targetKey = (accountId: string, scope: MailScope, ruleId = ""): Key =>
  scopeKey(accountId, rulePrefix, scope, ruleId);

/** The key prefixes of all rows of targets that are deleted together with a scope. */
export const targetPrefixes = (accountId: string, scope: MailScope): Key[] => [
  targetKey(accountId, scope),
  ...(scope.type === "domain" ? addressPrefixes(accountId, rulePrefix, scope.id) : []),
];

const VerificationState = z.enum(["internal", "pending", "verified", "expired"]);

/** The state of a recipient's agreement. */
const Verification = z.object({
  verification_required: z.boolean().meta({
    description:
      "Whether the recipient must agree before the target gets mail. It is false if the target is a mailbox of the account that the caller could see.",
  }),
  verification_state: VerificationState.meta({
    description:
      "The state of the recipient's agreement. `internal`: the target is a mailbox of the account. `pending`: the recipient has not agreed yet. `verified`: the recipient agreed. `expired`: the recipient did not agree in time, or the mail was refused. Ask an expired recipient again with `forwarding.verification.send`. A target gets mail while the rule is active and the target is `internal` or `verified`.",
  }),
  status_reason: z.string().nullable().meta({
    description: "Why the recipient got no mail, and what to do; null if a mail was requested or none is needed.",
  }),
  verification_sent_at: Timestamp.nullable().meta({
    description:
      "When the last mail to the recipient was requested; null if no mail was requested, or if the mail was refused.",
  }),
  verification_expires_at: Timestamp.nullable().meta({
    description: "When the link in the last mail expires; null if no mail was requested, or if the recipient agreed.",
  }),
  verification_verified_at: Timestamp.nullable().meta({
    description: "When the recipient agreed; null if the recipient has not agreed.",
  }),
});

const email = z.string().meta({ description: "The address, in lower case and with the domain in A-labels." });

const RuleTarget = z
  .object({ email, ...Verification.shape })
  .meta({ id: "ForwardingTarget", description: "An address that gets mail by a rule." });

export const RuleScopeType = z.enum([...MailScopeType.options, "mailbox", "address"]);

const verificationOfFirst = Object.fromEntries(
  Object.entries(Verification.shape).map(([member, schema]) => {
    const { description = "" } = schema.meta() ?? {};
    return [member, schema.meta({ description: `Of the first target: ${description}` })];
  }),
) as typeof Verification.shape;

export const ForwardingRule = z
  .object({
    id: Id.meta({ description: "The rule's id." }),
    scope_type: RuleScopeType.meta({
      description:
        "The kind of scope: the rule applies to the mail of the account, a workspace, a domain or a mailbox, or to addresses without a mailbox.",
    }),
    scope_id: Id.meta({
      description: "The id of the account, workspace, domain or mailbox; for addresses, the id of their domain.",
    }),
    address: z.string().nullable().meta({
      description:
        "The part before the @ of the addresses without a mailbox. A `*` stands for any characters. Null for other scopes.",
    }),
    target_email: z.string().meta({ description: "The first target, in lower case and with the domain in A-labels." }),
    active: z.boolean().meta({ description: "Whether the rule is active. A paused rule is not." }),
    keep_copy: z.boolean().meta({
      description:
        "Whether mailboxes keep the mail that the rule sends on. Always false for addresses without a mailbox.",
    }),
    ...verificationOfFirst,
    targets: z.array(RuleTarget).meta({ description: `The addresses that get the mail: 1 to ${targetLimit}.` }),
    created_at: Timestamp.meta({ description: "When the rule was created." }),
    updated_at: Timestamp.meta({ description: "When the rule last changed." }),
  })
  .meta({ id: "ForwardingRule", description: "A rule that sends the mail of a scope to other addresses." });
export type ForwardingRule = z.output<typeof ForwardingRule>;

/**
 * The members of a target that callers do not see.
 * - `slot`: a number, from 0, that no other target of the rule has. It is in the key of the target's proof. A target
 *   keeps its slot.
 * - `target_domain_id`: for an `internal` target, the id of the account's domain that the target is in. The target gets
 *   mail only while it is a mailbox in this domain, not in a later domain with the same name.
 */
const hidden = { slot: z.int().default(0), target_domain_id: z.string().optional() };

/** The stored state of an agreement. `expired` is stored as `pending`, with a `verification_expires_at` in the past. */
const storedState = { verification_state: VerificationState.exclude(["expired"]) };

const StoredOther = RuleTarget.extend({ ...storedState, ...hidden });
/** A target of a stored rule. */
export type Target = z.output<typeof StoredOther>;

/**
 * A stored rule. The first target is in the members of the rule itself. The rules of earlier versions have only this
 * target, and always keep a copy.
 */
export const StoredRule = ForwardingRule.omit({ targets: true }).extend({
  address: z.string().nullable().default(null),
  keep_copy: z.boolean().default(true),
  /** The id of the mailbox's domain, if the scope is a mailbox. */
  scope_domain_id: z.string().optional(),
  ...storedState,
  ...hidden,
  others: z.array(StoredOther).default([]),
  version: z.int(),
});
export type StoredRule = z.output<typeof StoredRule>;

/** The targets of a rule, in the order that the customer gave. */
export function targetsOf(rule: StoredRule): [Target, ...Target[]] {
  const { target_email, slot, target_domain_id, others } = rule;
  const { verification_required, verification_state, status_reason } = rule;
  const { verification_sent_at, verification_expires_at, verification_verified_at } = rule;
  const first = {
    email: target_email,
    verification_required,
    verification_state,
    status_reason,
    verification_sent_at,
    verification_expires_at,
    verification_verified_at,
    slot,
    ...(target_domain_id === undefined ? {} : { target_domain_id }),
  };
  return [first, ...others];
}

/** Stores the members that the rules of version 0.1.0 lack. */
export const completeRules = (table: Table, accountId: string): Promise<void> =>
  rewriteRows(table, rangeOfRows(rules.list(accountId)), (row) => {
    const { address, keep_copy, slot, others } = StoredRule.parse(row);
    const complete = { address, keep_copy, slot, others };
    return Object.keys(complete).every((name) => name in row) ? undefined : complete;
  });

/** A rule without its targets. */
type RuleBase = Omit<StoredRule, keyof Target | "target_email" | "others">;

/** A rule with its targets replaced by these targets. */
export function withTargets(rule: RuleBase, [first, ...others]: readonly [Target, ...Target[]]): StoredRule {
  const { target_domain_id: _, ...base } = rule as RuleBase & Pick<Target, "target_domain_id">;
  const { email: target_email, ...members } = first;
  return { ...base, target_email, ...members, others };
}

/** A rule with one of its targets replaced. */
export const withTarget = (rule: StoredRule, changed: Target): StoredRule =>
  withTargets(
    rule,
    targetsOf(rule).map((target) => (target.email === changed.email ? changed : target)) as [Target, ...Target[]],
  );

/** A target in the row that is looked up when mail arrives. `flows` says whether the target gets mail. */
const rowTarget = {
  target_email: z.string(),
  /** For an `internal` target only. */
  target_domain_id: z.string().optional(),
  flows: z.boolean(),
};

/**
 * The targets of a rule, stored a second time for the lookup when mail arrives. The first target is in the row itself.
 */
export const StoredTargets = z.object({
  rule_id: z.string(),
  ...rowTarget,
  others: z.array(z.object(rowTarget)).default([]),
  keep_copy: z.boolean().default(true),
  /** The local part or the pattern; only for addresses without a mailbox. */
  address: z.string().optional(),
});
export type StoredTargets = z.output<typeof StoredTargets>;

/** All targets in a row that is looked up when mail arrives, also the targets that get no mail at present. */
export const targetsInRow = ({ target_email, target_domain_id, flows, others }: StoredTargets) => [
  { target_email, target_domain_id, flows },
  ...others,
];

export const rules: Family<StoredRule> = {
  type: "forwarding",
  noun: "forwarding rules",
  view: "forwarding.view",
  list: (accountId) => ({ partition: `ACCOUNT#${accountId}`, name: "forwarding" }),
  prefix: rulePrefix,
  parse: (row) => StoredRule.parse(row),
  scopeOf,
  within: ["forwarding", "mailbox", "domain", "workspace"],
  perScope: 20,
  perAccount: 1_000,
  // A rule is deleted together with up to ten proofs, so only a few rules fit into one transaction.
  atOnce: 3,
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

/** The state of a target at a time. A recipient who did not agree in time is `expired`. */
export function stateAt({ verification_state, verification_expires_at }: Target, now: Date) {
  const isLate = verification_expires_at !== null && verification_expires_at <= now.toISOString();
  return verification_state === "pending" && isLate ? "expired" : verification_state;
}

/** The API view of a rule at a time. */
export function ruleView(rule: StoredRule, now: Date): ForwardingRule {
  const targets = targetsOf(rule).map((target) => ({ ...target, verification_state: stateAt(target, now) }));
  return ForwardingRule.parse({ ...rule, verification_state: targets[0]?.verification_state, targets });
}

/** The target of a rule with this address, if it waits for the recipient's agreement. */
export const waitingTarget = (rule: StoredRule, address: string): Target | undefined =>
  targetsOf(rule).find(({ email: own, verification_state }) => own === address && verification_state === "pending");

export function scopeOf({ scope_type: type, scope_id: id, address }: StoredRule): MailScope {
  return type === "address" ? { type, id, local: address ?? "" } : { type, id };
}

/** The write that stores a rule's targets for arriving mail. */
export function targetWrite(accountId: string, rule: StoredRule): Write {
  const { id, keep_copy, address } = rule;
  const [first, ...others] = targetsOf(rule).map(({ email: target_email, target_domain_id, verification_state }) => ({
    target_email,
    target_domain_id,
    flows: rule.active && verification_state !== "pending",
  }));
  return {
    put: {
      ...targetKey(accountId, scopeOf(rule), id),
      rule_id: id,
      ...first,
      ...(others.length === 0 ? {} : { others }),
      ...(keep_copy ? {} : { keep_copy }),
      ...(address === null ? {} : { address }),
    },
  };
}
