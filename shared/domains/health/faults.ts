import { DegradingCheck, type StoredDomain } from "../domain.ts";
import { isRight, isSendingRight } from "./health.ts";
import type { Check } from "./mail-checks.ts";
import type { ProofState } from "./proof.ts";

/**
 * Whether a check shows a fault of the domain. The owner of an external domain sets up one mail record after another.
 * So a wrong mail record of such a domain is a fault only if the record was right before. A wrong DMARC record is never
 * a fault.
 */
export function isFault({ name, status }: Check, { dns_mode, seen_right }: StoredDomain): boolean {
  if (status !== "fail" || name === "dmarc") return false;
  return dns_mode === "hosted" || name === "proof" || seen_right.some((seen) => seen === name);
}

export type SeenRecords = Partial<Pick<StoredDomain, "sending_ready" | "seen_right" | "handover">>;

/** The members of an external domain that follow from the results of its checks. */
export function membersAfterChecks(
  domain: StoredDomain,
  checks: readonly Check[],
  { delegation }: ProofState,
  now: Date,
): SeenRecords {
  const right = new Set(checks.filter(isRight).map(({ name }) => name));
  return {
    sending_ready: domain.sending_ready || isSendingRight(checks),
    seen_right: DegradingCheck.options.filter((name) => domain.seen_right.includes(name) || right.has(name)),
    handover: handoverAfter(domain, delegation, now),
  };
}

/** The handover of a zone after a check of the delegation. */
function handoverAfter(
  { handover, nameservers }: StoredDomain,
  delegation: ProofState["delegation"],
  now: Date,
): StoredDomain["handover"] {
  if (handover === null || delegation?.verified === undefined) return handover;
  const isOurs = delegation.observed.some((host) => nameservers.includes(host));
  return { gone_at: isOurs ? null : (handover.gone_at ?? now.toISOString()) };
}

/** The messages of failed checks as one text of at most 1,000 characters, for people. */
export const faultsText = (failed: readonly Check[]): string =>
  failed
    .map(({ message }) => message)
    .join(" ")
    .slice(0, 1_000);
