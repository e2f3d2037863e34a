import { change } from "../../changes/kind.ts";
import { InvalidInput, Problem } from "../../core/errors.ts";
import type { Context, LocatedResource, ResourceLookup, Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { isPassword } from "../mailboxes/password.ts";
import { scopedById, aheadOfScoped } from "../scoped/family.ts";
import { ruleUpdate, currentRule } from "./manage.ts";
import {
  endedWrites,
  getProof,
  hashOfToken,
  proofKey,
  StoredToken,
  tokenKey,
  triesPerCode,
  type StoredProof,
} from "./proof.ts";
import { isWaitingFor, ruleKind, rules, ruleView, type ForwardingRule, type StoredRule } from "./rule.ts";
import { maskedAddress } from "./target.ts";

/** The rules in one transaction: each takes three writes, with its entry in the audit log. */
const rulesPerTransaction = 20;

/** The change to a rule whose recipient agreed. */
function agreed(accountId: string, before: StoredRule, now: Date) {
  const at = now.toISOString();
  const after: StoredRule = {
    ...before,
    verification_state: "verified",
    verification_verified_at: at,
    verification_expires_at: null,
    updated_at: at,
  };
  const views = { before: ruleView(before, now), after: ruleView(after, now) };
  return {
    after,
    writes: ruleUpdate(accountId, before, after),
    change: change(ruleKind, "verified", before.id, views),
  };
}

type Proved<T> = {
  accountId: string;
  ruleId: string;
  isProof: (proof: StoredProof, now: Date) => boolean;
  /** Makes the error for a proof that is no longer valid. */
  lost: () => Error;
  /** Makes the answer from the rule. */
  answer: (rule: ForwardingRule) => T;
};

/**
 * Marks all rules that the mail listed, and that still wait for the recipient, as agreed. The rule that was asked about
 * comes last, and the proof is deleted with it, so that an interrupted run can be repeated.
 */
async function agree<T>(
  { accountId, ruleId, isProof, lost, answer }: Proved<T>,
  { table, commit, now }: Pick<Context, "table" | "commit" | "now">,
): Promise<T> {
  /** The proof if it is valid, and the rules among `ids` that wait for its recipient. */
  const holding = async (ids: readonly string[]) => {
    const [proof, ...found] = await Promise.all([
      getProof(table, accountId, ruleId),
      ...ids.map((id) => scopedById(rules, table, accountId, id)),
    ]);
    if (!proof || !isProof(proof, now())) throw lost();
    return { proof, waiting: found.filter((rule) => rule && isWaitingFor(rule, proof.target_email)) as StoredRule[] };
  };
  const early = await holding([ruleId]);
  const others = early.proof.covers.filter((id) => id !== ruleId);
  let known = others.length === 0 ? early : undefined;
  for (let from = 0; from < others.length; from += rulesPerTransaction) {
    const some = others.slice(from, from + rulesPerTransaction);
    await commit(async () => {
      const { proof: current, waiting } = await holding(some);
      const changed = waiting.map((rule) => agreed(accountId, rule, now()));
      if (changed.length === 0) return { value: undefined, writes: [], changes: [], partial: true };
      return {
        value: undefined,
        writes: [
          ...changed.flatMap(({ writes }) => writes),
          { check: proofKey(accountId, ruleId), if: { version: current.version } },
        ],
        changes: changed.map((one) => one.change),
        partial: true,
      };
    });
  }
  return commit(async () => {
    const { proof: current, waiting } = known ?? (await holding([ruleId]));
    // A plan that runs again reads again.
    known = undefined;
    const [rule] = waiting;
    if (!rule) throw lost();
    const at = now();
    const { after, writes, change: told } = agreed(accountId, rule, at);
    return {
      value: answer(ruleView(after, at)),
      writes: [...writes, ...endedWrites(accountId, ruleId, current)],
      changes: [told],
    };
  });
}

const deadLink = "This link is not valid. It was used, replaced by a newer link, or is too old. Ask for a new mail";

/** The rule that a link's token belongs to. */
export const tokenInBody: ResourceLookup<
  { body: { token: string } },
  { accountId: string; ruleId: string; hash: string }
> = {
  at: ["body", "token"],
  within: [],
  missing: deadLink,
  find: async ({ body }, table) => {
    const hash = hashOfToken(body.token);
    const found = await table.get(tokenKey(hash), StoredToken);
    if (!found) return undefined;
    const { account_id: accountId, rule_id: ruleId } = found;
    return { id: ruleId, accountId, scopes: [], thing: { accountId, ruleId, hash } } satisfies LocatedResource<unknown>;
  },
};

/** The recipient and state of an agreement, in a form that a stranger may see. */
type Agreed = { target_email: string; verification_state: "verified" };

/** Records the agreement of a recipient who follows a link. Throws 422 when the link is not valid any more. */
export const agreeByToken = (
  { accountId, ruleId, hash }: { accountId: string; ruleId: string; hash: string },
  context: Context,
): Promise<Agreed> =>
  agree(
    {
      accountId,
      ruleId,
      isProof: ({ token_hash, expires_at }, now) => token_hash === hash && expires_at > now.toISOString(),
      lost: () => new InvalidInput([{ loc: ["body", "token"], msg: deadLink, type: "not_found" }]),
      answer: ({ target_email }) => ({ target_email: maskedAddress(target_email), verification_state: "verified" }),
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
export function aheadOfCode(accountId: string, ruleId: string, expected: Expected): Ahead {
  const { keys } = aheadOfScoped(rules, accountId, ruleId, expected);
  return { keys: [...keys, proofKey(accountId, ruleId)] };
}

/**
 * Records the agreement of a recipient by the code that the customer enters. The attempt is counted before the code is
 * checked. Throws 404, and 409 `verification_failed` or `verification_not_needed`.
 */
export async function agreeByCode(
  accountId: string,
  ruleId: string,
  code: string,
  context: Context,
): Promise<ForwardingRule> {
  const { table } = context;
  const rule = await currentRule(table, accountId, ruleId);
  if (rule.verification_state !== "pending") {
    throw new Problem(
      "verification_not_needed",
      `${rule.target_email} needs no code. Only a pending rule can be confirmed.`,
    );
  }
  const { hash, triesLeft } = await countTry(accountId, ruleId, context);
  if (!(await isPassword(code, hash))) throw failed(triesLeft > 0 ? "wrong" : "no_tries_left", triesLeft);
  const isProof = ({ code_hash }: StoredProof): boolean => code_hash === hash;
  return agree({ accountId, ruleId, isProof, lost: () => failed("not_sent"), answer: (one) => one }, context);
}

/** Counts an attempt at the present code; throws when there is no code that may be tried. */
function countTry(
  accountId: string,
  ruleId: string,
  { table, commit, now }: Context,
): Promise<{ hash: string; triesLeft: number }> {
  return commit(async () => {
    const proof = await getProof(table, accountId, ruleId);
    const { code_hash: hash, code_expires_at = "", tries = 0 } = proof ?? {};
    if (hash === undefined || proof?.state === "refused") throw failed("not_sent");
    if (tries >= triesPerCode) throw failed("no_tries_left");
    if (code_expires_at <= now().toISOString()) throw failed("expired");
    return {
      value: { hash, triesLeft: triesPerCode - tries - 1 },
      writes: [{ update: proofKey(accountId, ruleId), add: { tries: 1 }, if: { code_hash: hash, tries } }],
      changes: [],
      housekeeping: true,
      partial: true,
    };
  });
}
