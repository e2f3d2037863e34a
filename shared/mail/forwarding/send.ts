import { randomUUID } from "node:crypto";

import { accountKey, StoredAccount } from "../../accounts/account.ts";
import { change } from "../../changes/kind.ts";
import { recorder } from "../../changes/recorder.ts";
import type { Log } from "../../core/log.ts";
import { later } from "../../core/time.ts";
import { domainsByIds } from "../../domains/find.ts";
import { MailRefused, type Mail } from "../../providers/mail/mail.ts";
import { readRows } from "../../table/ranked-list.ts";
import type { Table } from "../../table/table.ts";
import { hashPassword } from "../mailboxes/password.ts";
import { scopedById } from "../scoped/family.ts";
import { verificationLetter } from "./letter.ts";
import { ruleUpdate } from "./manage.ts";
import {
  codeMinutes,
  getProof,
  hashOfToken,
  linkHours,
  newCode,
  newToken,
  proofKey,
  tokenKey,
  ttlOf,
  type StoredProof,
} from "./proof.ts";
import { isWaitingFor, ruleKind, rules, ruleView, type StoredRule } from "./rule.ts";

export type SendWork = { table: Table; mail: Mail; publicUrl: string; now: () => Date; log: Log };

/** The lease of a worker, in milliseconds: longer than one invocation lasts. */
const leaseMs = 60_000;

type Secrets = { token: string; code: string };
type Taken = { version: number; rule: StoredRule; covered: StoredRule[] };

/**
 * Sends the mail that asks the recipient of a rule to agree, if it is due. Its link and code are new, and exist only in
 * the mail.
 * - A repeated call sends no second mail, unless the first call failed before it stored that the mail was accepted.
 * - Rejects when it has to be called again: with 503, or while another worker is sending.
 */
export async function sendVerification(accountId: string, ruleId: string, work: SendWork): Promise<void> {
  const account = await work.table.get(accountKey(accountId), StoredAccount);
  if (account?.status !== "active" && account?.status !== "past_due") return;
  const secrets = { token: newToken(), code: newCode() };
  const taken = await takeUp(accountId, ruleId, secrets, work);
  if (!taken) return;
  const { rule, version } = taken;
  const settle = (state: StoredProof["state"]) =>
    work.table.attempt({ update: proofKey(accountId, ruleId), set: { state, lease_until: "" }, if: { version } });
  try {
    const letter = await letterFor(account, taken.covered, secrets, work);
    await work.mail.send({ id: `${ruleId}.${version}`, to: rule.target_email, ...letter });
  } catch (error) {
    if (!(error instanceof MailRefused)) {
      await settle("asked").catch(() => undefined);
      throw error;
    }
    work.log.info("mail refused", { account_id: accountId, forwarding_id: ruleId });
    await settle("refused");
    return giveUp(accountId, rule, work);
  }
  await settle("mailed");
}

/**
 * Takes the lease of a due mail. Stores the hashes of the new link and code in place of the former ones, and the rules
 * that the mail lists. Returns undefined if no mail is due. Throws while another worker is sending.
 */
async function takeUp(
  accountId: string,
  ruleId: string,
  { token, code }: Secrets,
  { table, now }: SendWork,
): Promise<Taken | undefined> {
  const [token_hash, code_hash] = [hashOfToken(token), await hashPassword(code)];
  return table.commit(async () => {
    const nothing = { value: undefined, writes: [] };
    const [proof, rule] = await Promise.all([
      getProof(table, accountId, ruleId),
      scopedById(rules, table, accountId, ruleId),
    ]);
    const at = now();
    const isAsked = proof && proof.expires_at > at.toISOString() && ["asked", "sending"].includes(proof.state);
    if (!isAsked || !rule || !isWaitingFor(rule, proof.target_email)) return nothing;
    if (proof.state === "sending" && proof.lease_until > at.toISOString())
      throw new Error("Another worker is sending this mail.");
    const { version, expires_at, target_email } = proof;
    const covered = [rule, ...(await othersWaiting(table, accountId, rule))].slice(0, mostCovered);
    const set = {
      state: "sending",
      lease_until: later(at, leaseMs),
      covers: covered.map(({ id }) => id),
      token_hash,
      code_hash,
      code_expires_at: later(at, codeMinutes * 60_000),
      tries: 0,
    };
    const known = { account_id: accountId, rule_id: ruleId, ttl: ttlOf(expires_at) };
    return {
      value: { version: version + 1, rule, covered },
      // A request that changes the rule's target meanwhile replaces the proof, which makes these writes fail.
      writes: [
        { update: proofKey(accountId, ruleId), set, add: { version: 1 }, if: { version, target_email } },
        { put: { ...tokenKey(token_hash), ...known } },
      ],
    };
  });
}

/** The most rules that one mail lists. */
const mostCovered = 100;

/** The account's other rules that wait for the same recipient. */
async function othersWaiting(table: Table, accountId: string, { id, target_email }: StoredRule): Promise<StoredRule[]> {
  const { rows } = await readRows(table, rules.list(accountId), { skip: 0, take: rules.perAccount });
  return rows.map(rules.parse).filter((rule) => rule.id !== id && isWaitingFor(rule, target_email));
}

async function letterFor(
  { id: accountId, name: accountName }: StoredAccount,
  covered: readonly StoredRule[],
  { token, code }: Secrets,
  { table, publicUrl }: SendWork,
) {
  const ids = covered.flatMap(({ scope_type, scope_id }) => (scope_type === "domain" ? [scope_id] : []));
  const domains = await domainsByIds(table, accountId, ids);
  // Anybody can connect any name, so our mail shows only names that were proved.
  const names = domains.flatMap(({ name, verified_at }) => (verified_at === null ? [] : [name]));
  return verificationLetter({
    accountName,
    scope: {
      isAll: covered.some(({ scope_type }) => scope_type === "account"),
      domains: names,
      hasOthers: names.length < covered.length,
    },
    link: `${publicUrl}/verify#${token}`,
    code,
    linkHours,
    codeMinutes,
  });
}

/** Records in the rule that its target refused the mail, so that the recipient cannot agree. */
function giveUp(accountId: string, { id, target_email }: StoredRule, { table, now }: SendWork): Promise<void> {
  const author = {
    action: "system: forwarding",
    actor: { type: "system" as const, id: "forwarding" },
    requestId: randomUUID(),
  };
  return recorder({ table, accountId, author, now })(async () => {
    const before = await scopedById(rules, table, accountId, id);
    const isSame = before?.target_email === target_email && before.verification_state === "pending";
    if (!isSame) return { value: undefined, writes: [], changes: [] };
    const at = now();
    const after = {
      ...before,
      status_reason: "The recipient's mail server refused the mail to this address. Choose another target.",
      verification_sent_at: null,
      verification_expires_at: at.toISOString(),
      updated_at: at.toISOString(),
    };
    const views = { before: ruleView(before, at), after: ruleView(after, at) };
    return {
      value: undefined,
      writes: ruleUpdate(accountId, before, after),
      changes: [change(ruleKind, "verification_failed", id, views)],
    };
  });
}
