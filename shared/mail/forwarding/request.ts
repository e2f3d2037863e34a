import { change, type Change } from "../../changes/kind.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { mayMail, tooManyMails, type Wait } from "./mailed.ts";
import { askedWrites, endedWrites, linkHours, type StoredProof } from "./proof.ts";
import { ruleKind, ruleView, type StoredRule } from "./rule.ts";

type PlannedRequest = { rule: StoredRule; writes: Write[]; changes: Change[] };

/** The time at which a link that is requested now expires. */
const linkExpiry = (now: Date): string => new Date(now.getTime() + linkHours * 3_600_000).toISOString();

/**
 * Plans a mail to the recipient of a rule, with a new link and code. Earlier links and codes, which `proof` has, stop
 * working. A worker sends the mail when it gets the event of the change. Throws 429.
 */
export async function planRequest(
  table: Reader,
  accountId: string,
  rule: StoredRule,
  proof: StoredProof | undefined,
  now: Date,
): Promise<PlannedRequest> {
  const planned = await planRequestIfDue(table, accountId, rule, proof, now);
  if ("waitMs" in planned) throw tooManyMails(planned);
  return planned;
}

const retryIn = ({ waitMs }: Wait): string =>
  `Send one with forwarding.verification.send in ${waitMs > 90_000 ? `${Math.ceil(waitMs / 3_600_000)} h` : "a minute"}.`;

/** Like `planRequest`, but returns the time to wait if a limit on mails is reached. */
async function planRequestIfDue(
  table: Reader,
  accountId: string,
  rule: StoredRule,
  proof: StoredProof | undefined,
  now: Date,
): Promise<PlannedRequest | Wait> {
  const mail = await mayMail(table, accountId, rule.target_email, now);
  if ("waitMs" in mail) return mail;
  const expiresAt = linkExpiry(now);
  const requested: StoredRule = {
    ...rule,
    verification_required: true,
    verification_state: "pending",
    status_reason: null,
    verification_sent_at: now.toISOString(),
    verification_expires_at: expiresAt,
    verification_verified_at: null,
  };
  return {
    rule: requested,
    writes: [...mail.notes, ...askedWrites(accountId, rule, proof, expiresAt)],
    changes: [change(ruleKind, "verification_requested", rule.id, { after: ruleView(requested, now) })],
  };
}

/**
 * Plans the verification of a rule's new target. If a limit on mails is reached, no mail is sent. A later mail to the
 * address lists all rules of the account that wait for its agreement. `targetDomainId` is the domain of a target inside
 * the account; such a target needs no verification. `proof` is that of the rule's recipient before.
 */
export async function planNewTarget(
  table: Reader,
  accountId: string,
  { target_domain_id: _, ...rule }: StoredRule,
  targetDomainId: string | undefined,
  proof: StoredProof | undefined,
  now: Date,
): Promise<PlannedRequest> {
  const isInternal = targetDomainId !== undefined;
  const updated: StoredRule = {
    ...rule,
    ...(isInternal ? { target_domain_id: targetDomainId } : {}),
    verification_required: !isInternal,
    verification_state: isInternal ? "internal" : "pending",
    status_reason: null,
    verification_sent_at: null,
    verification_expires_at: null,
    verification_verified_at: null,
  };
  if (!isInternal) {
    const planned = await planRequestIfDue(table, accountId, updated, proof, now);
    if (!("waitMs" in planned)) return planned;
    updated.status_reason = `No mail was sent, because the limit on mails was reached. ${retryIn(planned)}`;
  }
  return { rule: updated, writes: endedWrites(accountId, rule.id, proof), changes: [] };
}
