import { change, type Change } from "../../changes/kind.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { mayMail, tooManyMails, type Wait } from "./mailed.ts";
import { askedWrites, endedWrites, getProof, linkHours } from "./proof.ts";
import { ruleKind, ruleView, type StoredRule } from "./rule.ts";

type Planned = { rule: StoredRule; writes: Write[]; changes: Change[] };

/** The expiry of a link that is requested at a time. */
const expiryOf = (now: Date): string => new Date(now.getTime() + linkHours * 3_600_000).toISOString();

/**
 * Plans a mail to the recipient of a rule, with a new link and code; the former ones stop working. The worker sends the
 * mail when it gets the recorded change. 429.
 */
export async function planRequest(table: Reader, accountId: string, rule: StoredRule, now: Date): Promise<Planned> {
  const planned = await planRequestIfDue(table, accountId, rule, now);
  if ("waitMs" in planned) throw tooManyMails(planned);
  return planned;
}

const retryIn = ({ waitMs }: Wait): string =>
  `ask for one by forwarding.verification.send in ${waitMs > 90_000 ? `${Math.ceil(waitMs / 3_600_000)} h` : "a minute"}.`;

/** Like `planRequest`, but gives the time to wait when a limit on mails is reached. */
async function planRequestIfDue(
  table: Reader,
  accountId: string,
  rule: StoredRule,
  now: Date,
): Promise<Planned | Wait> {
  const mail = await mayMail(table, accountId, rule.target_email, now);
  if ("waitMs" in mail) return mail;
  const proof = await getProof(table, accountId, rule.id);
  const expiresAt = expiryOf(now);
  const asked: StoredRule = {
    ...rule,
    verification_required: true,
    verification_state: "pending",
    status_reason: null,
    verification_sent_at: now.toISOString(),
    verification_expires_at: expiresAt,
    verification_verified_at: null,
  };
  return {
    rule: asked,
    writes: [...mail.notes, ...askedWrites(accountId, rule, proof, expiresAt)],
    changes: [change(ruleKind, "verification_requested", rule.id, { after: ruleView(asked, now) })],
  };
}

/**
 * Plans the verification of a rule's new target. If a limit on mails is reached, no mail is sent; a later mail to the
 * address lists all rules of the account that wait for it.
 */
export async function planNewTarget(
  table: Reader,
  accountId: string,
  { target_domain_id: _, ...rule }: StoredRule,
  home: string | undefined,
  now: Date,
): Promise<Planned> {
  const isInternal = home !== undefined;
  const waiting: StoredRule = {
    ...rule,
    ...(isInternal ? { target_domain_id: home } : {}),
    verification_required: !isInternal,
    verification_state: isInternal ? "internal" : "pending",
    status_reason: null,
    verification_sent_at: null,
    verification_expires_at: null,
    verification_verified_at: null,
  };
  if (!isInternal) {
    const planned = await planRequestIfDue(table, accountId, waiting, now);
    if (!("waitMs" in planned)) return planned;
    waiting.status_reason = `No mail was sent, as there were others: ${retryIn(planned)}`;
  }
  const proof = await getProof(table, accountId, rule.id);
  return { rule: waiting, writes: endedWrites(accountId, rule.id, proof), changes: [] };
}
