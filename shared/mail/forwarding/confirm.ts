import { change } from "../../changes/kind.ts";
import type { Writer } from "../../changes/recorder.ts";
import { invalidAt, Problem } from "../../core/errors.ts";
import { hashOfToken } from "../../core/ids.ts";
import type { Context, LocatedResource, ResourceLookup, Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { isPassword } from "../mailboxes/password.ts";
import { scopedById, aheadOfScoped } from "../scoped/family.ts";
import { ruleUpdate, currentRule, expectedRule, requireTarget } from "./manage.ts";
import { proofDeletion, getProof, proofKey, StoredToken, tokenKey, triesPerCode, type StoredProof } from "./proof.ts";
import {
  ruleKind,
  rules,
  ruleView,
  type ForwardingRule,
  type StoredRule,
  type Target,
  targetsOf,
  waitingTarget,
  withTarget,
} from "./rule.ts";
import { maskedAddress } from "./target.ts";

/**
 * The most rules that one transaction changes. A transaction has 100 writes at most. A rule takes three writes, and one
 * of these is the entry in the audit log.
 */
const rulesPerTransaction = 20;

/** The change to a rule after the recipient of `target` agreed. */
function agreed(accountId: string, { rule: before, target }: Waiting, now: Date) {
  const at = now.toISOString();
  const verified: Target = {
    ...target,
    verification_state: "verified",
    // The mail of another rule can bring the agreement, after no mail was sent for this rule.
    status_reason: null,
    verification_verified_at: at,
    verification_expires_at: null,
  };
  const after: StoredRule = { ...withTarget(before, verified), updated_at: at };
  const views = { before: ruleView(before, now), after: ruleView(after, now) };
  return {
    after,
    writes: ruleUpdate(accountId, before, after),
    change: change(ruleKind, "verified", before.id, views),
  };
}

/** A rule, and its target that waits for the agreement of the recipient. */
type Waiting = { rule: StoredRule; target: Target };

/** An agreement to store: where its proof is, how to check the proof, and what to answer. */
type Proved<T> = {
  accountId: string;
  ruleId: string;
  /** The slot of the target in the rule (`Target`). */
  slot: number;
  isValid: (proof: StoredProof, now: Date) => boolean;
  /** Makes the error for a proof that is not valid. */
  lost: () => Error;
  /** Makes the answer from the rule and the recipient's address. */
  answer: (rule: ForwardingRule, email: string) => T;
};

/**
 * Stores the agreement in all rules that the mail was about and that still wait for the recipient. The rule of the
 * proof comes last, in the transaction that deletes the proof. So an interrupted run can be repeated.
 */
async function agree<T>(proved: Proved<T>, { table, commit, now }: Writer): Promise<T> {
  const { accountId, ruleId, slot, lost, answer } = proved;
  const readValid = (ids: readonly string[]) => readProof(proved, ids, { table, now });
  const atStart = await readValid([ruleId]);
  const others = atStart.proof.covers.filter((id) => id !== ruleId);
  let firstRead = others.length === 0 ? atStart : undefined;
  for (let from = 0; from < others.length; from += rulesPerTransaction) {
    const some = others.slice(from, from + rulesPerTransaction);
    await commit(async () => {
      const { proof: current, waiting } = await readValid(some);
      const changed = waiting.map((one) => agreed(accountId, one, now()));
      if (changed.length === 0) return { value: undefined, writes: [], changes: [], partial: true };
      return {
        value: undefined,
        writes: [
          ...changed.flatMap(({ writes }) => writes),
          { check: proofKey(accountId, ruleId, slot), if: { version: current.version } },
        ],
        changes: changed.map((one) => one.change),
        partial: true,
      };
    });
  }
  return commit(async () => {
    const { proof: current, waiting } = firstRead ?? (await readValid([ruleId]));
    // If the plan runs again after a conflict, it must not use the first read, which may be stale.
    firstRead = undefined;
    const [one] = waiting;
    if (!one) throw lost();
    const at = now();
    const { after, writes, change: agreement } = agreed(accountId, one, at);
    return {
      value: answer(ruleView(after, at), one.target.email),
      writes: [...writes, proofDeletion(accountId, ruleId, slot, current)],
      changes: [agreement],
    };
  });
}

/**
 * Reads the proof, and the rules with these ids, and returns the rules that wait for the proof's recipient. Throws the
 * error of `lost` if the proof is not valid.
 */
async function readProof<T>(
  { accountId, ruleId, slot, isValid, lost }: Proved<T>,
  ids: readonly string[],
  { table, now }: Pick<Context, "table" | "now">,
): Promise<{ proof: StoredProof; waiting: Waiting[] }> {
  const [proof, ...found] = await Promise.all([
    getProof(table, accountId, ruleId, slot),
    ...ids.map((id) => scopedById(rules, table, accountId, id)),
  ]);
  if (!proof || !isValid(proof, now())) throw lost();
  const waiting = found.flatMap((rule): Waiting[] => {
    const target = rule && waitingTarget(rule, proof.target_email);
    return target ? [{ rule, target }] : [];
  });
  return { proof, waiting };
}

const deadLink = "This link is not valid, for example because it was used or is too old. Ask for a new mail";

type TokenOwner = { accountId: string; ruleId: string; slot: number; hash: string };

/** The rule that a link's token belongs to. */
export const tokenInBody: ResourceLookup<{ body: { token: string } }, TokenOwner> = {
  at: ["body", "token"],
  within: [],
  missing: deadLink,
  find: async ({ body }, table) => {
    const hash = hashOfToken(body.token);
    const found = await table.get(tokenKey(hash), StoredToken);
    if (!found) return undefined;
    const { account_id: accountId, rule_id: ruleId, slot } = found;
    const thing = { accountId, ruleId, slot, hash };
    return { id: ruleId, accountId, scopes: [], thing } satisfies LocatedResource<unknown>;
  },
};

/** The recipient and state of an agreement, in a form that a stranger may see. */
type Agreed = { target_email: string; verification_state: "verified" };

/** Records the agreement of a recipient who follows a link. Throws 422 when the link is not valid any more. */
export const agreeByToken = ({ accountId, ruleId, slot, hash }: TokenOwner, context: Context): Promise<Agreed> =>
  agree(
    {
      accountId,
      ruleId,
      slot,
      isValid: ({ token_hash, expires_at }, now) => token_hash === hash && expires_at > now.toISOString(),
      lost: () => invalidAt(["body", "token"], deadLink, "not_found"),
      answer: (_, email) => ({ target_email: maskedAddress(email), verification_state: "verified" }),
    },
    context,
  );

const reasons = {
  wrong: "The code is not the one in the last mail.",
  no_tries_left: "The code was tried too often. Send a new one with forwarding.verification.send.",
  expired: "The code is older than 15 minutes. Send a new one with forwarding.verification.send.",
  not_sent: "No mail with a code was sent yet. Wait a moment, or send one with forwarding.verification.send.",
} as const;

const failed = (reason: keyof typeof reasons, triesLeft = 0): Problem => {
  const left = `${triesLeft} ${triesLeft === 1 ? "try is" : "tries are"} left.`;
  const detail = reason === "wrong" && triesLeft > 0 ? `${reasons.wrong} ${left}` : reasons[reason];
  return new Problem("verification_failed", detail, { reason, tries_left: triesLeft });
};

/** The items that `ruleInPath` and `agreeByCode` read before the attempt is counted. */
export function aheadOfCode(accountId: string, ruleId: string, email: string | undefined, expected: Expected): Ahead {
  const { keys } = aheadOfScoped(rules, accountId, ruleId, expected);
  const rule = expectedRule(accountId, ruleId, expected);
  const slots = rule ? askedTargets(rule, email).map(({ slot }) => slot) : [0];
  return { keys: [...keys, ...slots.map((slot) => proofKey(accountId, ruleId, slot))] };
}

/** The target with the address `email`. If `email` is undefined, all targets whose recipients have not agreed yet. */
const askedTargets = (rule: StoredRule, email: string | undefined): Target[] =>
  targetsOf(rule).filter((target) =>
    email === undefined ? target.verification_state === "pending" : target.email === email,
  );

/**
 * The target that a code is for: the target with the address `email`, or else the only target that waits. A code is
 * tried for one target only. Otherwise a guess would be more likely to be right for a rule with more targets. Throws:
 * - 409 `verification_not_needed` if the target is not pending, or if no address is given and no target is pending;
 * - 422 if no target has the address, or if no address is given and several targets wait.
 */
function targetOfCode(rule: StoredRule, email: string | undefined): Target {
  const target = email === undefined ? undefined : requireTarget(rule, email);
  const [waiting, ...others] = askedTargets(rule, email);
  if (!target && others.length > 0) {
    const msg =
      "Several targets of the rule wait for their recipients. Give the address of the target that got the code";
    throw invalidAt(["body", "target_email"], msg);
  }
  if (waiting?.verification_state === "pending") return waiting;
  const detail = `${target?.email ?? rule.target_email} needs no code. Only a pending target can be confirmed.`;
  throw new Problem("verification_not_needed", detail);
}

/**
 * Records the agreement of a recipient by the code that the customer enters. `email` is the recipient's address; it can
 * be left out if only one target waits. The attempt is counted before the code is checked. Throws:
 * - 404 if there is no such rule
 * - 409 `verification_failed` if the code is wrong, or if no code may be tried
 * - 409 `verification_not_needed` if the target is not pending, or if no address is given and no target is pending
 * - 422 if no target has the address, or if no address is given and several targets wait
 */
export async function agreeByCode(
  accountId: string,
  ruleId: string,
  { code, email }: { code: string; email: string | undefined },
  context: Context,
): Promise<ForwardingRule> {
  const rule = await currentRule(context.table, accountId, ruleId);
  const { slot } = targetOfCode(rule, email);
  const { hash, triesLeft } = await countTry(accountId, ruleId, slot, context);
  if (!(await isPassword(code, hash))) throw failed(triesLeft > 0 ? "wrong" : "no_tries_left", triesLeft);
  const isValid = ({ code_hash }: StoredProof): boolean => code_hash === hash;
  return agree({ accountId, ruleId, slot, isValid, lost: () => failed("not_sent"), answer: (one) => one }, context);
}

/** Counts an attempt at the present code; throws when there is no code that may be tried. */
function countTry(
  accountId: string,
  ruleId: string,
  slot: number,
  { table, commit, now }: Context,
): Promise<{ hash: string; triesLeft: number }> {
  return commit(async () => {
    const proof = await getProof(table, accountId, ruleId, slot);
    const { code_hash: hash, code_expires_at = "", tries = 0 } = proof ?? {};
    if (hash === undefined || proof?.state === "refused") throw failed("not_sent");
    if (tries >= triesPerCode) throw failed("no_tries_left");
    if (code_expires_at <= now().toISOString()) throw failed("expired");
    return {
      value: { hash, triesLeft: triesPerCode - tries - 1 },
      writes: [{ update: proofKey(accountId, ruleId, slot), add: { tries: 1 }, if: { code_hash: hash, tries } }],
      changes: [],
      housekeeping: true,
      partial: true,
    };
  });
}
