import { accountKey, StoredAccount } from "../../accounts/account.ts";
import { change } from "../../changes/kind.ts";
import { systemAuthor } from "../../changes/record.ts";
import { recorder } from "../../changes/recorder.ts";
import { mapConcurrently, allFulfilled } from "../../core/concurrency.ts";
import { hashOfToken, newToken } from "../../core/ids.ts";
import { later } from "../../core/time.ts";
import { domainsByIds } from "../../domains/find.ts";
import type { WorkerContext } from "../../http/worker.ts";
import { MailRefused, type Mail } from "../../providers/mail/mail.ts";
import { readRows } from "../../table/ranked-list.ts";
import type { Table } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { mailboxesByIds } from "../mailboxes/lookup.ts";
import { hashPassword } from "../mailboxes/password.ts";
import { domainIdOf, scopedById } from "../scoped/family.ts";
import { verificationLetter } from "./letter.ts";
import { ruleUpdate } from "./manage.ts";
import { codeMinutes, getProof, linkHours, newCode, proofKey, tokenKey, ttlOf, type StoredProof } from "./proof.ts";
import { ruleKind, rules, ruleView, scopeOf, type StoredRule, targetsOf, waitingTarget, withTarget } from "./rule.ts";

export type SendWork = WorkerContext & { mail: Mail; publicUrl: string };

/** The lease of a worker, in milliseconds: longer than one invocation lasts. */
const leaseMs = 60_000;

/** The most mails of one rule that are sent at the same time. */
const mailsAtOnce = 5;

/** The secrets of a mail: the token of its link, and its code. */
type LinkAndCode = { token: string; code: string };
/** The recipient in a slot of a rule. */
type Recipient = { accountId: string; ruleId: string; slot: number };
/** The lease of a mail: the version of its proof, the recipient's address, and the rules that the mail is about. */
type Lease = { version: number; email: string; covered: StoredRule[] };

/**
 * Sends the mails that ask the recipients of a rule to agree, if these mails are due. Sends nothing for a suspended or
 * closed account. The link and the code in each mail are new, and exist only in the mail.
 * - A repeated call sends no second mail, unless the first call failed before it stored that the mail was accepted.
 * - Throws 503 if the mail server does not answer, and an Error while another worker sends a mail. Before this function
 *   throws, it tries the mails to all other recipients. The caller has to call this function again.
 */
export async function sendVerification(accountId: string, ruleId: string, work: SendWork): Promise<void> {
  const [account, rule] = await Promise.all([
    work.table.get(accountKey(accountId), StoredAccount),
    scopedById(rules, work.table, accountId, ruleId),
  ]);
  if ((account?.status !== "active" && account?.status !== "past_due") || !rule) return;
  const waiting = targetsOf(rule).filter(({ verification_state: state }) => state === "pending");
  const sent = await mapConcurrently(waiting, mailsAtOnce, ({ slot }) =>
    sendTo(account, { accountId, ruleId, slot }, work),
  );
  allFulfilled(sent);
}

/** Sends the mail to one recipient, if the mail is due. */
async function sendTo(account: StoredAccount, recipient: Recipient, work: SendWork): Promise<void> {
  const secrets = { token: newToken(), code: newCode() };
  const lease = await takeLease(recipient, secrets, work);
  if (!lease) return;
  const { email, version, covered } = lease;
  const { accountId, ruleId, slot } = recipient;
  const settle = (state: StoredProof["state"]) =>
    work.table.attempt({ update: proofKey(accountId, ruleId, slot), set: { state, lease_until: "" }, if: { version } });
  try {
    const letter = await letterFor(account, covered, secrets, work);
    const id = [ruleId, ...(slot === 0 ? [] : [slot]), version].join(".");
    await work.mail.send({ id, to: email, ...letter });
  } catch (error) {
    if (!(error instanceof MailRefused)) {
      await settle("asked").catch(() => undefined);
      throw error;
    }
    work.log.info("mail refused", { account_id: accountId, forwarding_id: ruleId });
    return noteRefusal(recipient, lease, work);
  }
  await settle("mailed");
}

/**
 * Takes the lease of a due mail. Replaces the former hashes by the hashes of the new link and code. Also stores which
 * rules the mail is about. Returns undefined if no mail is due. Throws while another worker is sending.
 */
async function takeLease(
  { accountId, ruleId, slot }: Recipient,
  { token, code }: LinkAndCode,
  { table, now }: SendWork,
): Promise<Lease | undefined> {
  const [token_hash, code_hash] = [hashOfToken(token), await hashPassword(code)];
  return table.commit(async () => {
    const nothing = { value: undefined, writes: [] };
    const [proof, rule] = await Promise.all([
      getProof(table, accountId, ruleId, slot),
      scopedById(rules, table, accountId, ruleId),
    ]);
    const at = now();
    const isDue = proof && proof.expires_at > at.toISOString() && ["asked", "sending"].includes(proof.state);
    if (!isDue || !rule || !waitingTarget(rule, proof.target_email)) return nothing;
    if (proof.state === "sending" && proof.lease_until > at.toISOString())
      throw new Error("Another worker is sending this mail.");
    const { version, expires_at, target_email } = proof;
    const covered = [rule, ...(await othersWaiting(table, accountId, ruleId, target_email))].slice(0, mostCovered);
    const set = {
      state: "sending",
      lease_until: later(at, leaseMs),
      covers: covered.map(({ id }) => id),
      token_hash,
      code_hash,
      code_expires_at: later(at, codeMinutes * 60_000),
      tries: 0,
    };
    const owner = { account_id: accountId, rule_id: ruleId, ...(slot === 0 ? {} : { slot }), ttl: ttlOf(expires_at) };
    return {
      value: { version: version + 1, email: target_email, covered },
      // A request that changes the rule's target meanwhile replaces the proof. Then these writes fail.
      writes: [
        { update: proofKey(accountId, ruleId, slot), set, add: { version: 1 }, if: { version, target_email } },
        { put: { ...tokenKey(token_hash), ...owner } },
      ],
    };
  });
}

/** The most rules that one mail is about. */
const mostCovered = 100;

/** The account's other rules that wait for the same recipient. */
async function othersWaiting(table: Table, accountId: string, id: string, email: string): Promise<StoredRule[]> {
  const { rows } = await readRows(table, rules.list(accountId), { skip: 0, take: rules.perAccount });
  return rows.map(rules.parse).filter((rule) => rule.id !== id && waitingTarget(rule, email));
}

async function letterFor(
  { id: accountId, name: accountName }: StoredAccount,
  covered: readonly StoredRule[],
  { token, code }: LinkAndCode,
  { table, publicUrl }: SendWork,
) {
  const names = await provedNames(table, accountId, covered);
  return verificationLetter({
    accountName,
    scope: {
      isAll: covered.some(({ scope_type }) => scope_type === "account"),
      names,
      hasOthers: names.length < covered.length,
    },
    link: `${publicUrl}/verify#${token}`,
    code,
    linkHours,
    codeMinutes,
  });
}

/**
 * The domains and addresses whose mail some rules send on. Anybody can add any domain. So only proved domains are named
 * in our mail; otherwise we would vouch for a stranger's name.
 */
async function provedNames(table: Table, accountId: string, covered: readonly StoredRule[]): Promise<string[]> {
  const ids = covered.flatMap((rule) => domainIdOf(rule) ?? []);
  const mailboxIds = covered.flatMap(({ scope_type, scope_id }) => (scope_type === "mailbox" ? [scope_id] : []));
  const [domains, mailboxes] = await Promise.all([
    domainsByIds(table, accountId, [...new Set(ids)]),
    mailboxesByIds(table, accountId, mailboxIds),
  ]);
  const proved = new Map(domains.flatMap(({ id, name, verified_at }) => (verified_at === null ? [] : [[id, name]])));
  const locals = new Map(mailboxes.map(({ id, local_part }) => [id, local_part]));
  return covered.flatMap((rule) => {
    const name = proved.get(domainIdOf(rule) ?? "");
    if (name === undefined) return [];
    const scope = scopeOf(rule);
    if (scope.type === "domain") return [name];
    const local = scope.type === "address" ? scope.local : locals.get(scope.id);
    return local === undefined ? [] : [`${local}@${name}`];
  });
}

/**
 * Stores a permanent refusal of the mail in the proof and in the rule. The target is then `expired`. Does nothing if a
 * newer request has replaced the proof.
 */
function noteRefusal(
  { accountId, ruleId: id, slot }: Recipient,
  { email, version }: Lease,
  { table, now }: SendWork,
): Promise<void> {
  const author = systemAuthor("forwarding", "forwarding");
  return recorder({ table, accountId, author, now })(async () => {
    const [proof, before] = await Promise.all([
      getProof(table, accountId, id, slot),
      scopedById(rules, table, accountId, id),
    ]);
    if (proof?.version !== version) return { value: undefined, writes: [], changes: [] };
    const set = { state: "refused" satisfies StoredProof["state"], lease_until: "" };
    const settled: Write = { update: proofKey(accountId, id, slot), set, if: { version } };
    const target = before && waitingTarget(before, email);
    if (!target) return { value: undefined, writes: [settled], changes: [], housekeeping: true };
    const at = now();
    const refused = {
      ...target,
      status_reason: "The mail to this address was refused. Choose another target.",
      verification_sent_at: null,
      verification_expires_at: at.toISOString(),
    };
    const after = { ...withTarget(before, refused), updated_at: at.toISOString() };
    const views = { before: ruleView(before, at), after: ruleView(after, at) };
    return {
      value: undefined,
      writes: [settled, ...ruleUpdate(accountId, before, after)],
      changes: [change(ruleKind, "verification_failed", id, views)],
    };
  });
}
