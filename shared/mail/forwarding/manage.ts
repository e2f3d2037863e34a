import { covers } from "../../auth/permissions.ts";
import { change, type Change } from "../../changes/kind.ts";
import { InvalidInput, notFound, Problem } from "../../core/errors.ts";
import { idWithOrdinal } from "../../core/ids.ts";
import { clock } from "../../core/time.ts";
import { scopesOfDomain } from "../../domains/find.ts";
import type { Context, Expected } from "../../http/route.ts";
import { appendRows } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Write, Key } from "../../table/writes.ts";
import { scopesOfMailbox } from "../mailboxes/find.ts";
import { placeFor, aheadOfPlace } from "../scoped/add.ts";
import { type MailScope, scopedById, scopedKey, aheadOfScoped } from "../scoped/family.ts";
import { destinationsOf, aheadOfAddress } from "./destinations.ts";
import { targetsOf, requireNoLoop, targetsRange } from "./loops.ts";
import { proofKey, getProof } from "./proof.ts";
import { aheadOfMail, planNewTarget, planRequest } from "./request.ts";
import {
  targetWrite,
  ruleKind,
  rules,
  ruleView,
  scopeOf,
  type ForwardingRule,
  StoredRule,
  StoredTarget,
} from "./rule.ts";

/** Reads the current state of a rule. Throws 404. */
export async function currentRule(table: Reader, accountId: string, id: string): Promise<StoredRule> {
  const rule = await scopedById(rules, table, accountId, id);
  if (!rule) throw notFound();
  return rule;
}

/** The writes that change a rule, provided that it has not changed since it was read. */
export function ruleUpdate(accountId: string, before: StoredRule, after: StoredRule): Write[] {
  const { id, version } = before;
  return [
    {
      put: { ...scopedKey(rules, accountId, id), ...after, version: version + 1 },
      if: { id, version },
    },
    targetWrite(accountId, after),
  ];
}

/**
 * The id of the account's domain that has the target as a mailbox. Undefined if there is no such mailbox, or the caller
 * may not see it; the recipient is then asked like any other. Throws 422 for an address without a mailbox in a proved
 * domain that the caller may see.
 */
async function homeOf(accountId: string, target: string, { table, permissions }: Context): Promise<string | undefined> {
  const { domain, isProved = false, mailbox } = (await destinationsOf(table, accountId, [target])).get(target) ?? {};
  if (mailbox && covers(permissions, "mailbox.view", scopesOfMailbox(mailbox))) return mailbox.domain.id;
  if (!domain || mailbox || !isProved || !covers(permissions, "mailbox.view", scopesOfDomain(domain))) return undefined;
  const msg = `${domain.name} is a domain of this account, and no mailbox has this address. Create the mailbox first`;
  throw new InvalidInput([{ loc: ["body", "target_email"], msg, type: "not_found" }]);
}

/**
 * Throws 409 `forwarding_exists` if another rule of the scope has the target already, and 409 `forwarding_loop` if
 * copies would come back.
 */
async function requireFit(
  accountId: string,
  rule: { id?: string; scope: MailScope; target: string },
  beside: readonly StoredTarget[],
  context: Context,
): Promise<void> {
  const same = beside.find(({ rule_id, target_email }) => target_email === rule.target && rule_id !== rule.id);
  if (same) {
    const detail = `A rule sends copies of this mail to ${rule.target} already.`;
    throw new Problem("forwarding_exists", detail, { conflicts_with: same.rule_id });
  }
  await requireNoLoop(accountId, rule, context);
}

/**
 * The items that are read first about a target: its domain twice (for a loop, and for its mailbox), and the limits on
 * mails unless the domain is one of the account's.
 */
function aheadOfTarget(accountId: string, target: string, { seen }: Expected): Key[] {
  const pointers = aheadOfAddress(accountId, target);
  const isInside = pointers.some((key) => seen.recall(key) !== undefined);
  return [...pointers, ...pointers, ...(isInside ? [] : aheadOfMail(accountId, target, clock()))];
}

/** The items that `scopeInBody` and `addRule` read. */
export function aheadOfRule(
  input: Parameters<typeof aheadOfPlace>[1] & { body: { target_email: string } },
  expected: Expected,
): Ahead {
  const accountId = input.params.account_id;
  const place = aheadOfPlace(rules, input, expected);
  return { keys: [...place, ...aheadOfTarget(accountId, input.body.target_email, expected)], again: true };
}

/**
 * Creates a rule. Its recipient is asked by mail, unless the target is a mailbox of the account. Throws 409
 * `forwarding_exists`, `forwarding_loop`, `limit_reached` or `domain_not_ready`, and 422 if the scope's domain is gone
 * or the target is an address without a mailbox in a domain of the account.
 */
export function addRule(
  accountId: string,
  { scope, target }: { scope: MailScope; target: string },
  context: Context,
): Promise<ForwardingRule> {
  const { table, commit, now } = context;
  return commit(async () => {
    const { state, presence, known } = await placeFor(rules, table, accountId, scope);
    const beside = known.map((row) => StoredTarget.parse(row));
    await requireFit(accountId, { scope, target }, beside, context);
    const at = now();
    const blank: StoredRule = {
      id: idWithOrdinal(state.next),
      scope_type: scope.type,
      scope_id: scope.id,
      target_email: target,
      active: true,
      verification_required: true,
      verification_state: "pending",
      status_reason: null,
      verification_sent_at: null,
      verification_expires_at: null,
      verification_verified_at: null,
      created_at: at.toISOString(),
      updated_at: at.toISOString(),
      version: 1,
    };
    const home = await homeOf(accountId, target, context);
    const planned = await planNewTarget(table, accountId, blank, home, undefined, at);
    const { rule } = planned;
    const view = ruleView(rule, at);
    return {
      value: view,
      writes: [...presence, ...appendRows(state, [rule]), targetWrite(accountId, rule), ...planned.writes],
      changes: [change(ruleKind, "created", rule.id, { after: view }), ...planned.changes],
    };
  });
}

type Step = { rule: StoredRule; writes: Write[]; changes: Change[]; verb?: "updated" | "paused" | "resumed" };

/** Changes a rule by `step`; writes nothing when `step` returns the same rule. */
function changeRule(
  accountId: string,
  id: string,
  { table, commit, now }: Context,
  step: (rule: StoredRule, now: Date) => Promise<Step> | Step,
): Promise<ForwardingRule> {
  return commit(async () => {
    const before = await currentRule(table, accountId, id);
    const at = now();
    const { rule, writes, changes, verb } = await step(before, at);
    const current = ruleView(before, at);
    if (rule === before) return { value: current, writes: [], changes: [], current };
    const after = { ...rule, updated_at: at.toISOString() };
    const view = ruleView(after, at);
    const own = verb ? [change(ruleKind, verb, id, { before: current, after: view })] : [];
    return { value: view, writes: [...ruleUpdate(accountId, before, after), ...writes], changes: [...own, ...changes] };
  });
}

/**
 * The items that `ruleInPath` and `retarget` read, and the targets of the rule's scope if this process has seen the
 * rule.
 */
export function aheadOfRetargeting(accountId: string, id: string, target: string, expected: Expected): Ahead {
  const rule = expectedRule(accountId, id, expected);
  return {
    keys: [
      ...aheadOfScoped(rules, accountId, id, expected).keys,
      ...aheadOfTarget(accountId, target, expected),
      proofKey(accountId, id),
    ],
    ranges: rule ? [targetsRange(accountId, scopeOf(rule))] : [],
  };
}

/** The rule as this process saw it last. */
const expectedRule = (accountId: string, id: string, { seen }: Expected): StoredRule | undefined =>
  StoredRule.safeParse(seen.recall(scopedKey(rules, accountId, id))).data;

/**
 * The items that `ruleInPath` and `requestVerification` read, and those about the target if this process has seen the
 * rule.
 */
export function aheadOfRequest(accountId: string, id: string, expected: Expected): Ahead {
  const rule = expectedRule(accountId, id, expected);
  return {
    keys: [
      ...aheadOfScoped(rules, accountId, id, expected).keys,
      ...(rule ? aheadOfTarget(accountId, rule.target_email, expected) : []),
      proofKey(accountId, id),
    ],
  };
}

/**
 * Changes the target of a rule. The new recipient has to agree. Throws 404, 409 `forwarding_exists` or
 * `forwarding_loop`, and 422 for an address without a mailbox in a domain of the account.
 */
export const retarget = (accountId: string, id: string, target: string, context: Context): Promise<ForwardingRule> =>
  changeRule(accountId, id, context, async (before, at) => {
    if (before.target_email === target) return { rule: before, writes: [], changes: [] };
    const scope = scopeOf(before);
    await requireFit(accountId, { id, scope, target }, await targetsOf(context.table, accountId, scope), context);
    const [home, proof] = await Promise.all([
      homeOf(accountId, target, context),
      getProof(context.table, accountId, id),
    ]);
    const moved = { ...before, target_email: target };
    return { ...(await planNewTarget(context.table, accountId, moved, home, proof, at)), verb: "updated" };
  });

/** Pauses or resumes a rule. Throws 404. */
export const setActive = (accountId: string, id: string, active: boolean, context: Context): Promise<ForwardingRule> =>
  changeRule(accountId, id, context, (before) => ({
    rule: before.active === active ? before : { ...before, active },
    writes: [],
    changes: [],
    verb: active ? "resumed" : "paused",
  }));

/**
 * Requests a mail that asks the recipient of a rule to agree. It can be requested again. Throws 404, 409
 * `verification_not_needed`, 422 for an address without a mailbox in a domain of the account, and 429 above a limit on
 * such mails.
 * - A target that has become a mailbox of the account needs no agreement.
 * - A target that is no longer a mailbox of the account needs one.
 */
export const requestVerification = (accountId: string, id: string, context: Context): Promise<ForwardingRule> =>
  changeRule(accountId, id, context, async (before, at) => {
    const { target_email: target, verification_state: state } = before;
    if (state === "verified") throw notNeeded(`${target} has agreed already.`);
    const [home, proof] = await Promise.all([
      homeOf(accountId, target, context),
      getProof(context.table, accountId, id),
    ]);
    if (home !== undefined && home === before.target_domain_id)
      throw notNeeded(`${target} is a mailbox of this account.`);
    if (home === undefined) return planRequest(context.table, accountId, withoutHome(before), proof, at);
    return { ...(await planNewTarget(context.table, accountId, before, home, proof, at)), verb: "updated" };
  });

const withoutHome = ({ target_domain_id: _, ...rule }: StoredRule): StoredRule => rule;

const notNeeded = (why: string): Problem => new Problem("verification_not_needed", `${why} No mail is needed.`);
