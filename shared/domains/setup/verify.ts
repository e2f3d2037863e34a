import * as z from "zod";

import { Timestamp } from "../../core/time.ts";
import type { Resolver } from "../../dns/answer.ts";
import type { Context } from "../../http/route.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import { DomainStatus, notReady, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { newDkim } from "../records/dkim-keys.ts";
import { planActivation } from "./activate.ts";
import { delegationState, type DelegationState } from "./delegation.ts";

export const Verification = z
  .object({
    domain: z.string().meta({ description: "The domain's name." }),
    verified: z.boolean().meta({
      description: "Whether the parent zone delegates the domain to `expected_nameservers`, and to no others.",
    }),
    status: DomainStatus.meta({ description: "The domain's status after the check." }),
    expected_nameservers: z.array(z.string()).meta({ description: "The two nameservers to delegate the domain to." }),
    observed_nameservers: z
      .array(z.string())
      .meta({ description: "The nameservers to which the parent zone delegates the domain." }),
    checked_at: Timestamp.meta({ description: "When the parent zone was queried." }),
    message: z.string().meta({ description: "The result, or what to do, for people." }),
  })
  .meta({ id: "DomainVerification", description: "Whether a domain is delegated to us." });
type Verification = z.output<typeof Verification>;

/** The statuses that a delegation to us ends. */
const waiting = new Set(["pending_delegation", "degraded"]);

/**
 * Asks the parent zone for the domain's delegation. If it is to us, the domain becomes active, with its system records.
 * Throws 409 `domain_not_ready` before the domain is registered, and while it is being released.
 */
export async function verifyDomain(
  found: StoredDomain,
  { table, commit, now }: Context,
  { resolver, secrets }: { resolver: Resolver; secrets: Secrets },
): Promise<Verification> {
  requireDelegable(found);
  const state = await delegationState(resolver, found.name, found.nameservers);
  const checkedAt = now();
  const isFirst = state.verified === true && found.verified_at === null;
  const dkim = isFirst ? await newDkim(found, secrets, checkedAt) : undefined;
  return commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (!domain) throw notReady("releasing", `${found.name} was deleted.`);
    requireDelegable(domain);
    const isNews = state.verified === true && waiting.has(domain.status);
    if (!isNews) return { value: verificationOf(domain, state, checkedAt), writes: [], changes: [] };
    const { after, ...planned } = await planActivation(table, domain, dkim, now());
    return { value: verificationOf(after, state, checkedAt), ...planned };
  });
}

function requireDelegable({ name, status, is_open }: StoredDomain): void {
  if (is_open && status !== "pending_registration") return;
  throw notReady(status, `${name} is ${status}. Its delegation cannot be verified.`);
}

const verificationOf = (domain: StoredDomain, state: DelegationState, at: Date): Verification => ({
  domain: domain.name,
  verified: state.verified ?? false,
  status: domain.status,
  expected_nameservers: domain.nameservers,
  observed_nameservers: state.observed,
  checked_at: at.toISOString(),
  message: state.message,
});
