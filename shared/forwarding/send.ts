import { randomUUID } from "node:crypto";

import { accountKey, StoredAccount } from "../accounts/account.ts";
import { change } from "../changes/kind.ts";
import { recorder } from "../changes/recorder.ts";
import { domainById } from "../domains/find.ts";
import type { Log } from "../log.ts";
import { hashPassword } from "../mailboxes/password.ts";
import { MailRefused, type Mail } from "../providers/mail.ts";
import { scopedById } from "../scoped/family.ts";
import type { Table } from "../table/table.ts";
import { verificationLetter } from "./letter.ts";
import { becoming } from "./manage.ts";
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
import { ruleKind, rules, ruleView, type StoredRule } from "./rule.ts";

export type SendWork = { table: Table; mail: Mail; publicUrl: string; now: () => Date; log: Log };

/** Longer than the worker lives. */
const leaseMs = 60_000;

type Secrets = { token: string; code: string };

/**
 * Sends the mail that a rule's recipient is asked by, if one is to go out: with a new link and code, which are nowhere
 * but in it. Called again it sends none, unless it died before it knew that the mail was taken. Rejects when it has to
 * be called again: 503, or while another worker is at it.
 */
export async function sendVerification(accountId: string, ruleId: string, work: SendWork): Promise<void> {
  const rule = await scopedById(rules, work.table, accountId, ruleId);
  if (rule?.verification_state !== "pending") return;
  const secrets = { token: newToken(), code: newCode() };
  const version = await takeUp(accountId, ruleId, secrets, work);
  if (version === undefined) return;
  const letter = await letterTo(accountId, rule, secrets, work);
  const settle = (state: StoredProof["state"]) =>
    work.table.attempt({ update: proofKey(accountId, ruleId), set: { state, lease_until: "" }, if: { version } });
  try {
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
 * Keeps the hashes of a new link and code, in place of those before; answers the proof's version, or undefined when no
 * mail is to go out. Throws while another worker is at it.
 */
async function takeUp(
  accountId: string,
  ruleId: string,
  { token, code }: Secrets,
  { table, now }: SendWork,
): Promise<number | undefined> {
  const [token_hash, code_hash] = [hashOfToken(token), await hashPassword(code)];
  return table.commit(async () => {
    const proof = await getProof(table, accountId, ruleId);
    const at = now();
    const isWanted = proof && proof.expires_at > at.toISOString() && ["asked", "sending"].includes(proof.state);
    if (!isWanted) return { value: undefined, writes: [] };
    if (proof.state === "sending" && proof.lease_until > at.toISOString()) throw new Error("it is being sent");
    const { version, expires_at } = proof;
    const set = {
      state: "sending",
      lease_until: later(at, leaseMs),
      token_hash,
      code_hash,
      code_expires_at: later(at, codeMinutes * 60_000),
      tries: 0,
    };
    const known = { account_id: accountId, rule_id: ruleId, ttl: ttlOf(expires_at) };
    return {
      value: version + 1,
      writes: [
        { update: proofKey(accountId, ruleId), set, add: { version: 1 }, if: { version } },
        { put: { ...tokenKey(token_hash), ...known } },
      ],
    };
  });
}

const later = (now: Date, ms: number): string => new Date(now.getTime() + ms).toISOString();

async function letterTo(
  accountId: string,
  { scope_type, scope_id }: StoredRule,
  { token, code }: Secrets,
  { table, publicUrl }: SendWork,
) {
  const [account, domain] = await Promise.all([
    table.get(accountKey(accountId), StoredAccount),
    scope_type === "domain" ? domainById(table, accountId, scope_id) : undefined,
  ]);
  // Anybody can connect any name: only one that was proved may stand in a letter of ours.
  const name = domain?.verified_at ? domain.name : null;
  return verificationLetter({
    accountName: account?.name ?? "",
    scope: scope_type === "domain" ? { kind: "domain", name } : { kind: scope_type },
    link: `${publicUrl}/verify#${token}`,
    code,
    linkHours,
    codeMinutes,
  });
}

/** An address that mail cannot be sent to: nobody there can agree, which the rule says. */
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
    const after = { ...before, verification_expires_at: at.toISOString(), updated_at: at.toISOString() };
    const views = { before: ruleView(before, at), after: ruleView(after, at) };
    return {
      value: undefined,
      writes: becoming(accountId, before, after),
      changes: [change(ruleKind, "verification_failed", id, views)],
    };
  });
}
