import { covers } from "../../auth/permissions.ts";
import { change, type Change } from "../../changes/kind.ts";
import { InvalidInput, notFound, Problem } from "../../core/errors.ts";
import { idWithOrdinal } from "../../core/ids.ts";
import { scopesOfDomain } from "../../domains/find.ts";
import type { Context } from "../../http/route.ts";
import { appendRows } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { scopesOfMailbox } from "../mailboxes/find.ts";
import { placeFor } from "../scoped/add.ts";
import { type MailScope, scopedById, scopedKey } from "../scoped/family.ts";
import { destinationsOf } from "./destinations.ts";
import { targetsOf, requireNoLoop } from "./loops.ts";
import { planNewTarget, planRequest } from "./request.ts";
import { targetWrite, ruleKind, rules, ruleView, scopeOf, type ForwardingRule, type StoredRule } from "./rule.ts";

/** Reads the current state of a rule. 404. */
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
 * may not see it; the recipient is then asked like any other. 422 for an address without a mailbox in a proved domain
 * that the caller may see.
 */
async function homeOf(accountId: string, target: string, { table, permissions }: Context): Promise<string | undefined> {
  const { domain, isProved = false, mailbox } = (await destinationsOf(table, accountId, [target])).get(target) ?? {};
  if (mailbox && covers(permissions, "mailbox.view", scopesOfMailbox(mailbox))) return mailbox.domain.id;
  if (!domain || mailbox || !isProved || !covers(permissions, "mailbox.view", scopesOfDomain(domain))) return undefined;
  const msg = `${domain.name} is a domain of this account, and no mailbox has this address. Create the mailbox first`;
  throw new InvalidInput([{ loc: ["body", "target_email"], msg, type: "not_found" }]);
}

/**
 * 409 `forwarding_exists` when the scope has a rule to the target already; 409 `forwarding_loop` when copies would come
 * back.
 */
async function requireFit(
  accountId: string,
  rule: { id?: string; scope: MailScope; target: string },
  context: Context,
): Promise<void> {
  const beside = await targetsOf(context.table, accountId, rule.scope);
  const same = beside.find(({ rule_id, target_email }) => target_email === rule.target && rule_id !== rule.id);
  if (same) {
    const detail = `A rule sends copies of this mail to ${rule.target} already.`;
    throw new Problem("forwarding_exists", detail, { conflicts_with: same.rule_id });
  }
  await requireNoLoop(accountId, rule, context);
}

/**
 * Creates a rule. Its recipient is asked by mail, unless the target is a mailbox of the account. 409
 * `forwarding_exists`, `forwarding_loop`, `limit_reached`, `domain_not_ready`, 422.
 */
export function addRule(
  accountId: string,
  { scope, target }: { scope: MailScope; target: string },
  context: Context,
): Promise<ForwardingRule> {
  const { table, commit, now } = context;
  return commit(async () => {
    const { state, presence } = await placeFor(rules, table, accountId, scope);
    await requireFit(accountId, { scope, target }, context);
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
    const planned = await planNewTarget(table, accountId, blank, await homeOf(accountId, target, context), at);
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
    const seen = ruleView(before, at);
    if (rule === before) return { value: seen, writes: [], changes: [], seen };
    const after = { ...rule, updated_at: at.toISOString() };
    const view = ruleView(after, at);
    const own = verb ? [change(ruleKind, verb, id, { before: seen, after: view })] : [];
    return { value: view, writes: [...ruleUpdate(accountId, before, after), ...writes], changes: [...own, ...changes] };
  });
}

/**
 * Changes the target of a rule. The new recipient has to agree. 404, 409 `forwarding_exists`, `forwarding_loop`, 422.
 */
export const retarget = (accountId: string, id: string, target: string, context: Context): Promise<ForwardingRule> =>
  changeRule(accountId, id, context, async (before, at) => {
    if (before.target_email === target) return { rule: before, writes: [], changes: [] };
    await requireFit(accountId, { id, scope: scopeOf(before), target }, context);
    const home = await homeOf(accountId, target, context);
    const moved = { ...before, target_email: target };
    return { ...(await planNewTarget(context.table, accountId, moved, home, at)), verb: "updated" };
  });

/** Pauses or resumes a rule. 404. */
export const setActive = (accountId: string, id: string, active: boolean, context: Context): Promise<ForwardingRule> =>
  changeRule(accountId, id, context, (before) => ({
    rule: before.active === active ? before : { ...before, active },
    writes: [],
    changes: [],
    verb: active ? "resumed" : "paused",
  }));

/**
 * Requests a mail that asks the recipient of a rule to agree. It can be requested again. 404, 409
 * `verification_not_needed`, 429.
 * - A target that has become a mailbox of the account needs no agreement.
 * - A target that is no longer a mailbox of the account needs one.
 */
export const requestVerification = (accountId: string, id: string, context: Context): Promise<ForwardingRule> =>
  changeRule(accountId, id, context, async (before, at) => {
    const { target_email: target, verification_state: state } = before;
    if (state === "verified") throw notNeeded(`${target} has agreed already.`);
    const home = await homeOf(accountId, target, context);
    if (home !== undefined && home === before.target_domain_id)
      throw notNeeded(`${target} is a mailbox of this account.`);
    if (home === undefined) return planRequest(context.table, accountId, withoutHome(before), at);
    return { ...(await planNewTarget(context.table, accountId, before, home, at)), verb: "updated" };
  });

const withoutHome = ({ target_domain_id: _, ...rule }: StoredRule): StoredRule => rule;

const notNeeded = (why: string): Problem => new Problem("verification_not_needed", `${why} No mail is needed.`);
