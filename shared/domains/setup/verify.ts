import * as z from "zod";

import type { ChangePlan } from "../../changes/recorder.ts";
import { Problem } from "../../core/errors.ts";
import { Timestamp } from "../../core/time.ts";
import type { Resolver } from "../../dns/answer.ts";
import type { Context } from "../../http/route.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { DomainStatus, holderKey, notReady, provedAgainMembers, sendsMail, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { faultsText, isFault, membersAfterChecks } from "../health/faults.ts";
import { isRight, mailChecks } from "../health/health.ts";
import { expectedRecords, type Check } from "../health/mail-checks.ts";
import { ProofFault, proofRecord, proofState, type ProofState } from "../health/proof.ts";
import { missingDkim } from "../records/dkim-keys.ts";
import { domainChange } from "../view.ts";
import { zoneObstacle } from "../zone-neighbours.ts";
import { planActivation } from "./activate.ts";
import { domainUpdate } from "./work.ts";

export const Verification = z
  .object({
    domain: z.string().meta({ description: "The domain's name." }),
    verified: z.boolean().meta({
      description:
        "Whether the name is proved: the parent zone delegates a hosted domain to `expected_nameservers` and to no others; an external domain has its TXT record, or is still delegated to us.",
    }),
    status: DomainStatus.meta({ description: "The domain's status after the check." }),
    outbound_routing_ready: z.boolean().meta({ description: "Whether mail can be sent from the domain." }),
    fault: ProofFault.nullable().meta({
      description:
        "Why the name is not proved, or `not_checked` if the DNS gave no answer. Null if it is proved. With `proof_of_another_account` the TXT record belongs to another account or another name. With `proof_is_alias` there is a CNAME record in the place of the TXT record.",
    }),
    expected_nameservers: z
      .array(z.string())
      .meta({ description: "The two nameservers to delegate the domain to. Empty for an external domain." }),
    observed_nameservers: z.array(z.string()).meta({
      description:
        "The nameservers to which the parent zone delegates the domain. For an external domain, the delegation is checked only while our nameservers still serve its zone.",
    }),
    expected_txt: z
      .object({
        name: z.string().meta({ description: "The full name of the record." }),
        value: z.string().meta({ description: "The record's text." }),
      })
      .nullable()
      .meta({ description: "The TXT record that proves an external domain. Null for a hosted one." }),
    observed_txt: z
      .array(z.string())
      .meta({ description: "The texts at the name of `expected_txt`. Empty for a hosted domain." }),
    checked_at: Timestamp.meta({ description: "When the DNS was queried." }),
    message: z.string().meta({ description: "The result, or what to do, for people." }),
  })
  .meta({ id: "DomainVerification", description: "Whether a domain's name is proved to be the account's." });
type Verification = z.output<typeof Verification>;

/**
 * Asks the public DNS for the proof of the domain's name. If the name is proved, a domain that waits for the proof
 * becomes active (`planActivation`). But a hosted domain stays `pending_delegation` while the nameservers hold a zone
 * above or below its name.
 *
 * Also checks the mail records of these domains:
 * - a degraded domain: it recovers if every check could be completed, and none of them finds a fault;
 * - an external domain that cannot send mail yet, or whose MX records have not been seen right yet: it can send mail
 *   once its SPF and DKIM records are right.
 *
 * Throws:
 * - 409 `domain_not_ready` before the name is registered or transferred, and for a domain that is `releasing`, `failed`
 *   or deleted meanwhile;
 * - 503 `busy` if the DNS mode of the domain changes meanwhile, because each mode has its own proof;
 * - 503 if the key service does not answer.
 */
export async function verifyDomain(
  found: StoredDomain,
  { table, commit, now }: Context,
  { resolver, secrets }: { resolver: Resolver; secrets: Secrets },
): Promise<Verification> {
  requireProvable(found);
  const [proof, mail] = await Promise.all([proofState(resolver, found), checkMail(found, { table, resolver })]);
  const checkedAt = now();
  const isProved = proof.verified === true;
  const dkim = isProved && found.verified_at === null ? await missingDkim(found, { table, secrets, now }) : undefined;
  return commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (!domain) throw notReady("releasing", `${found.name} was deleted.`);
    requireProvable(domain);
    if (domain.dns_mode !== found.dns_mode || (domain.handover === null) !== (found.handover === null)) {
      throw new Problem("busy", `The DNS mode of ${found.name} has changed meanwhile. Try again.`, { retry_after: 1 });
    }
    const obstacle = isProved ? await obstacleOf(domain, table) : undefined;
    if (obstacle !== undefined) return planObstacle(table, domain, obstacle, { proof, now: checkedAt });
    const isSeen = domain.dns_mode === "external" && isProved && mail.length > 0;
    const seen = isSeen ? { ...domain, ...membersAfterChecks(domain, mail, proof, now()) } : domain;
    if (isProved && (domain.status === "pending_delegation" || hasRecovered(domain, mail))) {
      const { after, ...planned } = await planActivation(table, seen, dkim, now());
      return { value: verificationOf(after, proof, mail, checkedAt), ...planned };
    }
    const value = verificationOf(seen, proof, mail, checkedAt);
    const { sending_ready, seen_right } = seen;
    // Earlier checks without a proof may have loosened the hold on the name. The proof makes the hold firm again.
    const isRegained = isProved && (domain.unproved ?? 0) > 0;
    const isSame = sending_ready === domain.sending_ready && seen_right.length === domain.seen_right.length;
    if (isSame && !isRegained) return { value, writes: [], changes: [] };
    const becomesReady = sending_ready && !domain.sending_ready;
    const { after, writes: updates } = domainUpdate(domain, {
      sending_ready,
      seen_right,
      ...(isRegained ? provedAgainMembers(domain) : {}),
      ...(becomesReady ? { updated_at: now().toISOString() } : {}),
    });
    const hold: Write[] = isRegained
      ? [{ update: holderKey(domain.name), set: { firm: true }, if: { domain_id: domain.id } }]
      : [];
    const writes = [...updates, ...hold];
    if (!becomesReady) return { value, writes, changes: [], housekeeping: true };
    return { value, writes, changes: [await domainChange(table, "updated", domain, after)] };
  });
}

/**
 * Returns a text that says why a hosted domain that waits for its proof cannot get its zone. Undefined if the domain
 * can get its zone, and for any other domain.
 */
const obstacleOf = async ({ status, dns_mode, name }: StoredDomain, table: Reader): Promise<string | undefined> =>
  status === "pending_delegation" && dns_mode === "hosted" ? zoneObstacle(table, name) : undefined;

/** Plans that a domain still waits although its name is proved, and stores the reason in `status_reason`. */
async function planObstacle(
  table: Reader,
  domain: StoredDomain,
  message: string,
  { proof, now }: { proof: ProofState; now: Date },
): Promise<ChangePlan<Verification>> {
  const value = verificationOf(domain, { ...proof, message }, [], now);
  if (domain.status_reason === message) return { value, writes: [], changes: [] };
  const { after, writes } = domainUpdate(domain, { status_reason: message, updated_at: now.toISOString() });
  return { value, writes, changes: [await domainChange(table, "updated", domain, after)] };
}

/**
 * The checks of the mail records that a verification needs. Only a degraded domain needs them, and an external domain
 * that cannot send mail yet, or whose MX records have not been seen right yet.
 */
async function checkMail(
  domain: StoredDomain,
  { table, resolver }: Pick<Context, "table"> & { resolver: Resolver },
): Promise<Check[]> {
  const { dns_mode, sending_ready, seen_right } = domain;
  const isWaiting = dns_mode === "external" && !(sending_ready && seen_right.includes("mx"));
  if (domain.status !== "degraded" && !isWaiting) return [];
  return mailChecks({ resolver, domain }, await expectedRecords(table, domain));
}

/** Whether a degraded domain has no fault any more. A record that could not be checked counts as a fault. */
const hasRecovered = (domain: StoredDomain, mail: readonly Check[]): boolean =>
  domain.status === "degraded" &&
  mail.length > 0 &&
  mail.every((check) => check.status !== "unknown" && !isFault(check, domain));

function requireProvable({ name, status, is_open }: StoredDomain): void {
  if (is_open && !["pending_registration", "pending_transfer"].includes(status)) return;
  throw notReady(status, `${name} is ${status}. It cannot be verified.`);
}

/**
 * The remaining faults of a proved domain, as sentences: the faults of its mail, or the reason why an external domain
 * cannot send yet.
 */
function remainingFaults(domain: StoredDomain, mail: readonly Check[]): string {
  if (domain.status === "degraded") {
    const faults = faultsText(mail.filter((check) => isFault(check, domain)));
    return faults === "" ? "A mail record could not be checked. Try again in a minute." : faults;
  }
  const lacking = mail.filter((check) => (check.name === "spf" || check.name === "dkim") && !isRight(check));
  if (sendsMail(domain) || lacking.length === 0) return "";
  return `Mail cannot be sent yet. ${faultsText(lacking)}`;
}

function verificationOf(domain: StoredDomain, state: ProofState, mail: readonly Check[], at: Date): Verification {
  const isHosted = domain.dns_mode === "hosted";
  const proof = proofRecord(domain);
  return {
    domain: domain.name,
    verified: state.verified ?? false,
    status: domain.status,
    outbound_routing_ready: sendsMail(domain),
    fault: state.fault,
    expected_nameservers: isHosted ? domain.nameservers : [],
    observed_nameservers: state.delegation?.observed ?? [],
    expected_txt: isHosted ? null : { name: `${proof.name}.${domain.name}`, value: proof.value },
    observed_txt: state.record?.observed ?? [],
    checked_at: at.toISOString(),
    message: [state.message, ...(state.verified === true ? [remainingFaults(domain, mail)] : [])].join(" ").trim(),
  };
}
