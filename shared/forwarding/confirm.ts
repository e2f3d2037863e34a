import { change } from "../changes/kind.ts";
import { InvalidInput, Problem } from "../errors.ts";
import { isPassword } from "../mailboxes/password.ts";
import type { Context, Located, Subject } from "../route.ts";
import { scopedById } from "../scoped/family.ts";
import { readRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import { becoming, currentRule } from "./manage.ts";
import { endedWrites, getProof, hashOfToken, proofKey, StoredToken, tokenKey, triesPerCode } from "./proof.ts";
import { ruleKind, rules, ruleView, type ForwardingRule, type StoredRule } from "./rule.ts";
import { maskedAddress } from "./target.ts";

/** Each is three writes, with its entry in the audit log. */
const atOnce = 20;

/** What becomes of a rule whose recipient agreed. */
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
    writes: becoming(accountId, before, after),
    change: change(ruleKind, "verified", before.id, views),
  };
}

type Proved<T> = {
  accountId: string;
  ruleId: string;
  isProof: (now: Date) => Promise<boolean>;
  /** What is thrown when the proof is none any more. */
  lost: () => Error;
  /** What is answered of the rule. */
  answer: (rule: ForwardingRule) => T;
};

/**
 * Notes that a recipient agreed, for all rules of the account that wait for the same address, the one that was asked
 * about last: with it goes the proof.
 */
async function agree<T>(
  { accountId, ruleId, isProof, lost, answer }: Proved<T>,
  { table, commit, now }: Pick<Context, "table" | "commit" | "now">,
): Promise<T> {
  const first = await scopedById(rules, table, accountId, ruleId);
  if (!first || !(await isProof(now()))) throw lost();
  const { rows } = await readRows(table, rules.list(accountId), { skip: 0, take: rules.perAccount });
  const others = rows
    .map(rules.parse)
    .filter((rule) => rule.id !== ruleId && isWaitingFor(rule, first.target_email))
    .map(({ id }) => id);
  for (let from = 0; from < others.length; from += atOnce) {
    const some = others.slice(from, from + atOnce);
    await commit(async () => {
      // The proof may have ended since, and must not have where others follow from it.
      const proof = await getProof(table, accountId, ruleId);
      if (!proof || !(await isProof(now()))) throw lost();
      const waiting = (await Promise.all(some.map((id) => scopedById(rules, table, accountId, id)))).flatMap((rule) =>
        rule && isWaitingFor(rule, first.target_email) ? [agreed(accountId, rule, now())] : [],
      );
      if (waiting.length === 0) return { value: undefined, writes: [], changes: [], partial: true };
      return {
        value: undefined,
        writes: [
          ...waiting.flatMap(({ writes }) => writes),
          { check: proofKey(accountId, ruleId), if: { version: proof.version } },
        ],
        changes: waiting.map((one) => one.change),
        partial: true,
      };
    });
  }
  return commit(async () => {
    const [rule, proof] = await Promise.all([
      scopedById(rules, table, accountId, ruleId),
      getProof(table, accountId, ruleId),
    ]);
    const at = now();
    if (!rule || !proof || !isWaitingFor(rule, first.target_email) || !(await isProof(at))) throw lost();
    const { after, writes, change: told } = agreed(accountId, rule, at);
    return {
      value: answer(ruleView(after, at)),
      writes: [...writes, ...endedWrites(accountId, ruleId, proof)],
      changes: [told],
    };
  });
}

const isWaitingFor = (rule: StoredRule, target: string): boolean =>
  rule.target_email === target && rule.verification_state === "pending";

const deadLink =
  "This link is not valid any more: it was used, replaced by a newer one, or is too old. Ask for a new one";

/** The rule that a link's token is about. */
export const tokenInBody: Subject<{ body: { token: string } }, { accountId: string; ruleId: string; hash: string }> = {
  at: ["body", "token"],
  missing: deadLink,
  find: async ({ body }, table) => {
    const hash = hashOfToken(body.token);
    const found = await table.get(tokenKey(hash), StoredToken);
    if (!found) return undefined;
    const { account_id: accountId, rule_id: ruleId } = found;
    return { id: ruleId, accountId, scopes: [], thing: { accountId, ruleId, hash } } satisfies Located<unknown>;
  },
};

/** Who agreed, as a stranger may see it. */
type Agreed = { target_email: string; verification_state: "verified" };

/** The recipient agrees by a link. 422 when it is not valid any more. */
export const agreeByToken = (
  { accountId, ruleId, hash }: { accountId: string; ruleId: string; hash: string },
  context: Context,
): Promise<Agreed> =>
  agree(
    {
      accountId,
      ruleId,
      isProof: (now) => isToken(context.table, accountId, ruleId, hash, now),
      lost: () => new InvalidInput([{ loc: ["body", "token"], msg: deadLink, type: "not_found" }]),
      answer: ({ target_email }) => ({ target_email: maskedAddress(target_email), verification_state: "verified" }),
    },
    context,
  );

async function isToken(table: Reader, accountId: string, ruleId: string, hash: string, now: Date): Promise<boolean> {
  const proof = await getProof(table, accountId, ruleId);
  return proof?.token_hash === hash && proof.expires_at > now.toISOString();
}

const wrongCode = (triesLeft: number): Problem =>
  new Problem(
    "verification_failed",
    triesLeft > 0
      ? `This is not the code of the last mail; ${triesLeft} ${triesLeft === 1 ? "try is" : "tries are"} left.`
      : "There is no code to enter: the last one was used up, is too old, or was never sent. Send a new one.",
    { tries_left: triesLeft },
  );

/**
 * The recipient agrees by the code that the customer enters. The try counts before the code is looked at. 404, 409
 * `verification_failed`, `verification_not_needed`.
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
    throw new Problem("verification_not_needed", `${rule.target_email} needs no code.`);
  }
  const { hash, triesLeft } = await countTry(accountId, ruleId, context);
  if (!(await isPassword(code, hash))) throw wrongCode(triesLeft);
  const isProof = async (): Promise<boolean> => (await getProof(table, accountId, ruleId))?.code_hash === hash;
  return agree({ accountId, ruleId, isProof, lost: () => wrongCode(0), answer: (one) => one }, context);
}

/** Counts one more try of the code there is; throws when there is none that may be tried. */
function countTry(
  accountId: string,
  ruleId: string,
  { table, commit, now }: Context,
): Promise<{ hash: string; triesLeft: number }> {
  return commit(async () => {
    const { code_hash: hash, code_expires_at = "", tries = 0 } = (await getProof(table, accountId, ruleId)) ?? {};
    if (hash === undefined || code_expires_at <= now().toISOString() || tries >= triesPerCode) throw wrongCode(0);
    return {
      value: { hash, triesLeft: triesPerCode - tries - 1 },
      writes: [{ update: proofKey(accountId, ruleId), add: { tries: 1 }, if: { code_hash: hash, tries } }],
      changes: [],
      housekeeping: true,
      partial: true,
    };
  });
}
