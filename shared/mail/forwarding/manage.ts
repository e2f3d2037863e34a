import { covers } from "../../auth/permissions.ts";
import { change, type Change } from "../../changes/kind.ts";
import { invalidAt, InvalidInput, notFound, Problem, type ValidationError } from "../../core/errors.ts";
import { idWithOrdinal } from "../../core/ids.ts";
import { clock } from "../../core/time.ts";
import { domainById, scopesOfDomain } from "../../domains/find.ts";
import type { Context, Expected } from "../../http/route.ts";
import { aheadOfList, appendRows, readList } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Write, Key } from "../../table/writes.ts";
import { addressTaken } from "../mailboxes/add.ts";
import { mailboxById, scopesOfMailbox } from "../mailboxes/find.ts";
import { addressKey, StoredAddress } from "../mailboxes/mailbox.ts";
import { AddressTaken } from "../mailboxes/plan.ts";
import { placeFor } from "../scoped/add.ts";
import { isPattern, type MailScope, scopedById, scopedKey, aheadOfScoped } from "../scoped/family.ts";
import { aheadOfAddress, type Destination, destinationsOf } from "./destinations.ts";
import { targetRowsOf, requireNoLoop } from "./loops.ts";
import { getProofs, proofDeletion, proofKey } from "./proof.ts";
import { aheadOfMails, planNewTargets, planRequests } from "./request.ts";
import {
  targetsInRow,
  targetWrite,
  ruleKind,
  rules,
  ruleView,
  scopeOf,
  type ForwardingRule,
  StoredRule,
  StoredTargets,
  type Target,
  targetsOf,
  withTarget,
  withTargets,
} from "./rule.ts";
import { aheadOfRuleScope, type NewScope } from "./scope.ts";
import { type GivenTargets, givenTargets, targetLimit } from "./target.ts";

/** Reads the current state of a rule. Throws 404. */
export async function currentRule(table: Reader, accountId: string, id: string): Promise<StoredRule> {
  const rule = await scopedById(rules, table, accountId, id);
  if (!rule) throw notFound();
  return rule;
}

/** The writes that change a rule. The transaction fails if the rule has changed since it was read. */
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
 * Where mail to the targets of a rule goes, by the address of the target: the domain of the account, and the mailbox if
 * there is one. An address outside the account's open domains is missing.
 */
type Places = ReadonlyMap<string, Destination>;

/**
 * `homes` maps the address of each target that is a mailbox of the account to the id of the mailbox's domain. A mailbox
 * that the caller may not see is left out, so its recipient has to agree. `faults` has the targets in proved domains of
 * the account for which no mailbox gets the mail. For a domain on which the caller lacks `mailbox.view`, `faults` has
 * nothing.
 */
function findHomes(
  { emails, locOf }: GivenTargets,
  places: Places,
  { permissions }: Context,
): { homes: Map<string, string>; faults: Map<string, ValidationError> } {
  const homes = new Map<string, string>();
  const faults = new Map<string, ValidationError>();
  for (const email of emails) {
    const { domain, isProved = false, mailbox } = places.get(email) ?? {};
    if (mailbox && covers(permissions, "mailbox.view", scopesOfMailbox(mailbox))) {
      homes.set(email, mailbox.domain.id);
    } else if (domain && !mailbox && isProved && covers(permissions, "mailbox.view", scopesOfDomain(domain))) {
      const msg = `${domain.name} is a domain of this account, and no mailbox has this address. Create the mailbox first`;
      faults.set(email, { loc: locOf(email), msg, type: "not_found" });
    }
  }
  return { homes, faults };
}

/** Returns the `homes` that `findHomes` finds. If `findHomes` finds faults, throws 422 with these faults instead. */
function homesOf(given: GivenTargets, places: Places, context: Context): Map<string, string> {
  const { homes, faults } = findHomes(given, places, context);
  if (faults.size > 0) throw new InvalidInput([...faults.values()]);
  return homes;
}

/** A new or changed rule, with the targets that it is to have. A new rule has no `id`. */
type PlannedRule = { id?: string; scope: MailScope; given: GivenTargets };

/**
 * Requires that a planned rule fits with the other rules. `beside` are the rows with the targets of the rules of the
 * scope. `places` are the destinations of the planned targets. Throws:
 * - 409 `forwarding_exists` if another rule of the scope has one of the targets already;
 * - 409 `forwarding_loop` if other rules would send the copies back to the scope of the rule;
 * - 422 if the scope is a mailbox, and a target is an address of this mailbox.
 */
async function requireFit(
  accountId: string,
  { id, scope, given: { emails, locOf } }: PlannedRule,
  beside: readonly StoredTargets[],
  places: Places,
  context: Context,
): Promise<void> {
  for (const row of beside) {
    // For a pattern, `beside` has the rules of all patterns of the domain, so the address is compared too.
    const isOther = row.rule_id !== id && (scope.type !== "address" || row.address === scope.local);
    const same = isOther && targetsInRow(row).find(({ target_email }) => emails.includes(target_email));
    if (!same) continue;
    const detail = `A rule sends this mail to ${same.target_email} already.`;
    throw new Problem("forwarding_exists", detail, { conflicts_with: row.rule_id });
  }
  const own = scope.type === "mailbox" && emails.find((email) => places.get(email)?.mailbox?.mailbox.id === scope.id);
  if (own) {
    const msg = "This is an address of the mailbox whose mail the rule sends on. Choose another target";
    throw invalidAt(locOf(own), msg);
  }
  const planned = { scope, ...(id === undefined ? {} : { id }) };
  await requireNoLoop(accountId, planned, places, context);
}

/** Throws 409 `address_taken` if a mailbox that the caller may see has the address of a new rule. */
async function requireFree(accountId: string, scope: MailScope, context: Context): Promise<void> {
  if (scope.type !== "address" || isPattern(scope.local)) return;
  const { table, permissions } = context;
  const owner = await table.get(addressKey(accountId, scope.id, scope.local), StoredAddress);
  const [mailbox, domain] = owner
    ? await Promise.all([mailboxById(table, accountId, owner.mailbox_id), domainById(table, accountId, scope.id)])
    : [];
  if (!mailbox || !domain || !covers(permissions, "mailbox.view", scopesOfMailbox({ mailbox, domain }))) return;
  throw addressTaken(new AddressTaken(scope.local, mailbox.id), domain, context);
}

/**
 * The items about targets that are read first:
 * - for each target, the pointer from the name of its domain to the id of this domain
 * - the limits on mails to the address of each target whose domain this process has not seen in the account, because
 *   such a target is probably outside the account
 */
function aheadOfTargets(accountId: string, emails: readonly string[], { seen }: Expected): Key[] {
  const pointers = emails.flatMap((email) => aheadOfAddress(accountId, email));
  const external = emails.filter((email) =>
    aheadOfAddress(accountId, email).every((key) => seen.recall(key) === undefined),
  );
  return [...pointers, ...aheadOfMails(accountId, external, clock())];
}

/** The items that `ruleScopeInBody` and `addRule` read first. */
export function aheadOfRule(
  input: Parameters<typeof aheadOfRuleScope>[0],
  { emails }: GivenTargets,
  expected: Expected,
): Ahead {
  const targets = aheadOfTargets(input.params.account_id, emails, expected);
  // The lookup of the route reads the scope, and the plan of `addRule` reads the scope again.
  return { keys: [...aheadOfRuleScope(input, expected), ...targets], again: true };
}

/** The change that makes the worker ask the recipients of a rule; no change if nobody is to be asked. */
const requestChange = (rule: StoredRule, isAsked: boolean, now: Date): Change[] =>
  isAsked ? [change(ruleKind, "verification_requested", rule.id, { after: ruleView(rule, now) })] : [];

/**
 * Creates a rule. Its recipients are asked by mail, within the limits on such mails. A mailbox of the account that the
 * caller may see is not asked. Throws:
 * - 409 `address_taken` if a mailbox that the caller may see has the address of the rule;
 * - 409 `forwarding_exists` if another rule of the scope has one of the targets already;
 * - 409 `forwarding_loop` if other rules would send the copies back to the scope of the rule;
 * - 409 `limit_reached` if the scope or the account can have no more rules;
 * - 409 `domain_not_ready` if the scope's domain accepts no new rules;
 * - 409 `mail_unavailable` if recipients are to be asked, and this deployment sends no mail;
 * - 422 if the scope is gone;
 * - 422 for a target that is an address of the mailbox whose mail the rule sends on;
 * - 422 for a target in a proved domain of the account for which no mailbox gets the mail, if the caller has
 *   `mailbox.view` on the domain.
 */
export function addRule(
  accountId: string,
  { place: { scope, domainId }, given, keepCopy }: { place: NewScope; given: GivenTargets; keepCopy: boolean },
  context: Context,
): Promise<ForwardingRule> {
  const { table, commit, now } = context;
  return commit(async () => {
    const { state, presence, existing } = await placeFor(rules, table, accountId, scope);
    await requireFree(accountId, scope, context);
    const beside = existing.map((row) => StoredTargets.parse(row));
    const places = await destinationsOf(table, accountId, given.emails);
    await requireFit(accountId, { scope, given }, beside, places, context);
    const at = now();
    const id = idWithOrdinal(state.next);
    const homes = homesOf(given, places, context);
    const added = given.emails.map((email, slot) => ({ email, slot, homeId: homes.get(email) }));
    const planned = await planNewTargets(table, added, { accountId, ruleId: id, proofs: new Map(), now: at });
    const base = {
      id,
      scope_type: scope.type,
      scope_id: scope.id,
      ...(domainId === undefined ? {} : { scope_domain_id: domainId }),
      address: scope.type === "address" ? scope.local : null,
      active: true,
      keep_copy: keepCopy && scope.type !== "address",
      created_at: at.toISOString(),
      updated_at: at.toISOString(),
      version: 1,
    };
    const rule = withTargets(base, atLeastOne(planned.targets));
    const view = ruleView(rule, at);
    return {
      value: view,
      writes: [...presence, ...appendRows(state, [rule]), targetWrite(accountId, rule), ...planned.writes],
      changes: [change(ruleKind, "created", id, { after: view }), ...requestChange(rule, planned.isAsked, at)],
    };
  });
}

function atLeastOne(targets: readonly Target[]): [Target, ...Target[]] {
  const [first, ...others] = targets;
  if (!first) throw new Error("A rule has a target at least.");
  return [first, ...others];
}

/**
 * The result of a change: the rule, the writes besides the rule's own, whether a mail is to be sent, and the verb to
 * record, if there is one.
 */
type ChangedRule = { rule: StoredRule; writes: Write[]; isAsked: boolean; verb?: "updated" | "paused" | "resumed" };

/** Changes a rule as the function `step` says. Writes nothing if `step` returns the same rule. */
function changeRule(
  accountId: string,
  id: string,
  { table, commit, now }: Context,
  step: (rule: StoredRule, now: Date) => Promise<ChangedRule> | ChangedRule,
): Promise<ForwardingRule> {
  return commit(async () => {
    const before = await currentRule(table, accountId, id);
    const at = now();
    const { rule, writes, isAsked, verb } = await step(before, at);
    const current = ruleView(before, at);
    if (rule === before) return { value: current, writes: [], changes: [], current };
    const after = { ...rule, updated_at: at.toISOString() };
    const view = ruleView(after, at);
    const own = verb ? [change(ruleKind, verb, id, { before: current, after: view })] : [];
    return {
      value: view,
      writes: [...ruleUpdate(accountId, before, after), ...writes],
      changes: [...own, ...requestChange(after, isAsked, at)],
    };
  });
}

/** The items that `ruleInPath` and `updateRule` read first. */
export function aheadOfUpdate(accountId: string, id: string, emails: readonly string[], expected: Expected): Ahead {
  const { keys: head = [] } = aheadOfList(rules.list(accountId));
  return {
    keys: [
      ...aheadOfScoped(rules, accountId, id, expected).keys,
      ...aheadOfTargets(accountId, emails, expected),
      ...(emails.length > 0 ? [...head, proofKey(accountId, id)] : []),
    ],
  };
}

/** The rule as this process saw it last. */
export const expectedRule = (accountId: string, id: string, { seen }: Expected): StoredRule | undefined =>
  StoredRule.safeParse(seen.recall(scopedKey(rules, accountId, id))).data;

/**
 * The items that `ruleInPath` and `requestVerification` read first. If this process has not seen the rule, the only
 * item about its targets is the proof in slot 0.
 */
export function aheadOfRequest(accountId: string, id: string, expected: Expected): Ahead {
  const rule = expectedRule(accountId, id, expected);
  const waiting = rule ? targetsOf(rule).filter(({ verification_state: state }) => state !== "verified") : [];
  const emails = waiting.map(({ email }) => email);
  return {
    keys: [
      ...aheadOfScoped(rules, accountId, id, expected).keys,
      ...aheadOfTargets(accountId, emails, expected),
      ...(rule ? waiting.map(({ slot }) => proofKey(accountId, id, slot)) : [proofKey(accountId, id)]),
    ],
  };
}

/** A change to a rule. `target_emails` replaces all targets, and `target_email` replaces the first target. */
type RuleChange = {
  target_email?: string | undefined;
  target_emails?: readonly string[] | undefined;
  keep_copy?: boolean | undefined;
};

/**
 * Changes the targets of a rule, and whether mailboxes keep the mail. A new recipient has to agree, unless it is a
 * mailbox of the account that the caller may see. A target that stays keeps its state. Throws:
 * - 404 if there is no such rule;
 * - 409 `forwarding_exists` if another rule of the scope has one of the targets already;
 * - 409 `forwarding_loop` if other rules would send the copies back to the scope of the rule;
 * - 409 `mail_unavailable` if new recipients are to be asked, and this deployment sends no mail;
 * - 422 for a target that is an address of the mailbox whose mail the rule sends on;
 * - 422 for a new target in a proved domain of the account for which no mailbox gets the mail, if the caller has
 *   `mailbox.view` on the domain;
 * - 422 if a rule for an address without a mailbox is to keep the mail.
 */
export const updateRule = (
  accountId: string,
  id: string,
  body: RuleChange,
  context: Context,
): Promise<ForwardingRule> =>
  changeRule(accountId, id, context, async (before, at) => {
    const { keep_copy = before.keep_copy } = body;
    if (keep_copy && before.scope_type === "address") throw nobodyKeeps();
    const rule = keep_copy === before.keep_copy ? before : { ...before, keep_copy };
    const given = changedTargets(before, body);
    if (!given) return { rule, writes: [], isAsked: false, ...(rule === before ? {} : { verb: "updated" }) };
    return { ...(await planTargets(accountId, rule, given, context, at)), verb: "updated" };
  });

const nobodyKeeps = (): InvalidInput =>
  invalidAt(["body", "keep_copy"], "No mailbox has the addresses of this rule, so no mailbox can keep their mail");

/**
 * The targets that a rule is to have; undefined if the body gives no targets, or the same targets in the same order.
 */
function changedTargets(rule: StoredRule, body: RuleChange): GivenTargets | undefined {
  const given = givenTargets(body);
  if (given.emails.length === 0) return undefined;
  const current = targetsOf(rule).map(({ email }) => email);
  const others = current.slice(1).filter((email) => email !== body.target_email);
  const emails = body.target_emails ?? [...given.emails, ...others];
  return emails.join() === current.join() ? undefined : { ...given, emails };
}

/** Plans other targets for a rule. A target that the rule has already keeps its state and its slot. */
async function planTargets(
  accountId: string,
  rule: StoredRule,
  given: GivenTargets,
  context: Context,
  now: Date,
): Promise<ChangedRule> {
  const { table } = context;
  const scope = scopeOf(rule);
  const { kept, gone, added } = assignSlots(targetsOf(rule), given.emails);
  // The targets of the other rules are read after the head of the list, and this transaction changes the head. So of
  // two transactions that change targets at the same time, one fails.
  const { state } = await readList(table, rules.list(accountId));
  const addedTargets = { emails: added.map(({ email }) => email), locOf: given.locOf };
  const [beside, places, proofs] = await Promise.all([
    targetRowsOf(table, accountId, scope),
    destinationsOf(table, accountId, given.emails),
    getProofs(table, accountId, rule.id, gone),
  ]);
  await requireFit(accountId, { id: rule.id, scope, given }, beside, places, context);
  const homes = homesOf(addedTargets, places, context);
  const planned = await planNewTargets(
    table,
    added.map(({ email, slot }) => ({ email, slot, homeId: homes.get(email) })),
    { accountId, ruleId: rule.id, proofs, now },
  );
  const targets = new Map([...kept, ...planned.targets].map((target) => [target.email, target]));
  const reused = new Set(added.map(({ slot }) => slot));
  const ended = [...proofs].filter(([slot]) => !reused.has(slot));
  return {
    rule: withTargets(rule, atLeastOne(given.emails.flatMap((email) => targets.get(email) ?? []))),
    writes: [
      ...appendRows(state, []),
      ...planned.writes,
      ...ended.map(([slot, proof]) => proofDeletion(accountId, rule.id, slot, proof)),
    ],
    isAsked: planned.isAsked,
  };
}

/**
 * Gives each new target of a rule the lowest free slot. `kept` are the targets that stay, with their slots. `gone` are
 * the slots of the targets that the rule loses.
 */
function assignSlots(before: readonly Target[], emails: readonly string[]) {
  const kept = before.filter(({ email }) => emails.includes(email));
  const gone = before.filter((target) => !kept.includes(target)).map(({ slot }) => slot);
  const used = new Set(kept.map(({ slot }) => slot));
  const free = Array.from({ length: targetLimit }, (_, slot) => slot).filter((slot) => !used.has(slot));
  const added = emails
    .filter((email) => !kept.some((target) => target.email === email))
    .map((email, index) => {
      const slot = free[index];
      if (slot === undefined) throw new Error(`A rule has ${targetLimit} targets at most.`);
      return { email, slot };
    });
  return { kept, gone, added };
}

/** Pauses or resumes a rule. Throws 404. */
export const setActive = (accountId: string, id: string, active: boolean, context: Context): Promise<ForwardingRule> =>
  changeRule(accountId, id, context, (before) => ({
    rule: before.active === active ? before : { ...before, active },
    writes: [],
    isAsked: false,
    verb: active ? "resumed" : "paused",
  }));

/** The target of a rule with this address. Throws 422 if the rule has none. */
export function requireTarget(rule: StoredRule, email: string): Target {
  const target = targetsOf(rule).find((one) => one.email === email);
  if (target) return target;
  throw invalidAt(["body", "target_email"], "The rule has no such target", "not_found");
}

/** Whether an `internal` target is still the mailbox that it was, even if the caller may not see this mailbox. */
function isAtHome({ email, verification_state, target_domain_id }: Target, places: Places): boolean {
  const homeId = places.get(email)?.mailbox?.domain.id;
  return verification_state === "internal" && homeId !== undefined && homeId === (target_domain_id ?? homeId);
}

/**
 * Requests mails that ask recipients of a rule to agree. If `email` is given, only the recipient with this address gets
 * a mail. Otherwise all recipients who have not agreed get a mail. Mails can be requested again.
 * - A target that has become a mailbox of the account that the caller may see needs no agreement.
 * - An `internal` target needs an agreement once it is no longer a mailbox of its domain.
 * - A recipient beyond a limit on such mails gets no mail.
 * - No mail is sent to a target in a proved domain of the account for which no mailbox gets the mail, if the caller has
 *   `mailbox.view` on the domain.
 *
 * Throws:
 * - 404 if there is no such rule;
 * - 409 `mail_unavailable` if recipients are to be asked, and this deployment sends no mail;
 * - 409 `verification_not_needed` if these recipients have agreed already, or need no agreement;
 * - 422 for an address that is no target;
 * - 422 if no target is left, because no mailbox in the proved domains of the account gets the mail of these targets;
 * - 429 if a limit on such mails leaves no mail to send.
 */
export const requestVerification = (
  accountId: string,
  id: string,
  email: string | undefined,
  context: Context,
): Promise<ForwardingRule> =>
  changeRule(accountId, id, context, async (before, now) => {
    const { table } = context;
    const wanted = email === undefined ? targetsOf(before) : [requireTarget(before, email)];
    const waiting = wanted.filter(({ verification_state: state }) => state !== "verified");
    if (waiting.length === 0) throw notNeeded(wanted, "has agreed already");
    const emails = waiting.map((target) => target.email);
    const slots = waiting.map(({ slot }) => slot);
    const [places, proofs] = await Promise.all([
      destinationsOf(table, accountId, emails),
      getProofs(table, accountId, id, slots),
    ]);
    const { homes, faults } = findHomes({ emails, locOf: () => ["body", "target_email"] }, places, context);
    const reachable = waiting.filter((target) => !faults.has(target.email));
    if (reachable.length === 0) throw new InvalidInput([...faults.values()]);
    const homeOf = (target: Target) => homes.get(target.email);
    const internal = reachable.filter((one) => homeOf(one) !== undefined && homeOf(one) !== one.target_domain_id);
    const external = reachable.filter((one) => homeOf(one) === undefined && !isAtHome(one, places));
    if (internal.length + external.length === 0) throw notNeeded(reachable, "is a mailbox of this account");
    const ruleProofs = { accountId, ruleId: id, proofs, now };
    const atHome = internal.map((one) => ({ email: one.email, slot: one.slot, homeId: homeOf(one) }));
    const settled = await planNewTargets(table, atHome, ruleProofs);
    const asked = await planRequests(table, external, ruleProofs);
    return {
      rule: [...settled.targets, ...asked.targets].reduce(withTarget, before),
      writes: [...settled.writes, ...asked.writes],
      isAsked: asked.isAsked,
      ...(internal.length > 0 ? { verb: "updated" } : {}),
    };
  });

function notNeeded(targets: readonly Target[], why: string): Problem {
  const [target, ...others] = targets;
  const who = others.length === 0 ? (target?.email ?? "") : "Each of the targets";
  return new Problem("verification_not_needed", `${who} ${why}. No mail is needed.`);
}
