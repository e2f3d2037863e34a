import type { GetDomainDetailResponse } from "@aws-sdk/client-route-53-domains";

import { later } from "../../core/time.ts";
import { Refused, renewalGraceMs, redemptionMs, transferLockMs, type Registration } from "./registrar.ts";
import { codeOf, requireValue, sentenceOf, type Domains } from "./route53-client.ts";

/** Whether Route 53 does not have the name: InvalidInput, "Domain example.com not found in 111122223333 account." */
const isNotFound = (error: unknown): boolean =>
  codeOf(error) === "InvalidInput" && error instanceof Error && /not found|does not exist/i.test(error.message);

/** The data of Route 53 about a name in our AWS account; undefined when the name is not there. */
export async function domainDetail(
  { client, sdk }: Domains,
  name: string,
): Promise<GetDomainDetailResponse | undefined> {
  try {
    return await client.send(new sdk.GetDomainDetailCommand({ DomainName: name }));
  } catch (error) {
    if (isNotFound(error) || codeOf(error) === "UnsupportedTLD") return undefined;
    throw error;
  }
}

/** When the registration of a name in our AWS account ends; undefined when there is none. */
export async function expiryOf(domains: Domains, name: string): Promise<Date | undefined> {
  const detail = await domainDetail(domains, name);
  return detail && requireValue(detail.ExpirationDate);
}

/**
 * An EPP status without the address of its explanation. For `clientTransferProhibited https://icann.org/epp#…` returns
 * `clientTransferProhibited`.
 */
const statusOf = (status: string): string => status.split(/\s/, 1)[0] ?? "";

/**
 * The registration of a name in our AWS account, from Route 53's own records; undefined when there is none. Route 53
 * does not say how long the grace and the redemption last, so this function uses the times of most registries. Route 53
 * does not say when the name was last transferred either, so `transferableAt` counts from the registration.
 */
export async function registration(domains: Domains, name: string, now: Date): Promise<Registration | undefined> {
  const detail = await domainDetail(domains, name);
  if (!detail) return undefined;
  const end = requireValue(detail.ExpirationDate);
  const statuses = (detail.StatusList ?? []).map(statusOf);
  const graceEndsAt = later(end, renewalGraceMs);
  const isGraceOver = statuses.includes("redemptionPeriod") || graceEndsAt <= now.toISOString();
  const phaseBefore = end <= now ? "grace" : "registered";
  return {
    expiresAt: end.toISOString(),
    phase: isGraceOver ? "redemption" : phaseBefore,
    graceEndsAt,
    redemptionEndsAt: later(end, renewalGraceMs + redemptionMs),
    transferableAt: later(detail.CreationDate ?? new Date(0), transferLockMs),
    statuses,
    privacy: detail.RegistrantPrivacy ?? true,
    autoRenew: detail.AutoRenew ?? false,
    nameservers: (detail.Nameservers ?? []).map(({ Name }) => requireValue(Name).replace(/\.$/, "").toLowerCase()),
  };
}

/**
 * Asks the registry to delegate a name to these nameservers; this takes effect a little later. Throws `Refused` if
 * Route 53 or the registry refuses them.
 */
export async function setNameservers(
  { client, sdk }: Domains,
  name: string,
  nameservers: readonly string[],
): Promise<void> {
  const named = nameservers.map((host) => ({ Name: host }));
  try {
    await client.send(new sdk.UpdateDomainNameserversCommand({ DomainName: name, Nameservers: named }));
  } catch (error) {
    if (!nameserverRefusals.has(codeOf(error))) throw error;
    throw new Refused(`The registrar says: ${sentenceOf((error as Error).message)}`, { cause: error });
  }
}

/** The codes with which Route 53 refuses nameservers. */
const nameserverRefusals = new Set(["InvalidInput", "TLDRulesViolation", "UnsupportedTLD"]);

/** Stops the automatic renewal of a name by Route 53. */
export async function stopAutoRenew({ client, sdk }: Domains, name: string): Promise<void> {
  await client.send(new sdk.DisableDomainAutoRenewCommand({ DomainName: name }));
}

/**
 * The code by which another registrar transfers a name. Throws `Refused` if names under the top-level domain have no
 * auth code.
 */
export async function authCode({ client, sdk }: Domains, name: string): Promise<string> {
  try {
    const { AuthCode } = await client.send(new sdk.RetrieveDomainAuthCodeCommand({ DomainName: name }));
    return requireValue(AuthCode);
  } catch (error) {
    if (codeOf(error) !== "UnsupportedTLD") throw error;
    throw new Refused("Names under this top-level domain have no auth code. Write to us to transfer the name.");
  }
}

/** Runs a change that some registries do not offer. Does nothing for the names of such registries. */
async function whereOffered(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (codeOf(error) !== "UnsupportedTLD" && codeOf(error) !== "TLDRulesViolation") throw error;
  }
}

/** Locks a name against transfer, or unlocks it; this takes effect a little later. */
export function setLock({ client, sdk }: Domains, name: string, locked: boolean): Promise<void> {
  const input = { DomainName: name };
  return whereOffered(
    locked
      ? client.send(new sdk.EnableDomainTransferLockCommand(input))
      : client.send(new sdk.DisableDomainTransferLockCommand(input)),
  );
}

/** Hides the contacts in the registry's public data, or shows them; this takes effect a little later. */
export function setPrivacy({ client, sdk }: Domains, name: string, privacy: boolean): Promise<void> {
  const command = new sdk.UpdateDomainContactPrivacyCommand({
    DomainName: name,
    AdminPrivacy: privacy,
    RegistrantPrivacy: privacy,
    TechPrivacy: privacy,
    BillingPrivacy: privacy,
  });
  return whereOffered(client.send(command));
}

/** Whether an operation deletes its name. */
async function isDeletion({ client, sdk }: Domains, id: string | undefined): Promise<boolean> {
  if (id === undefined) return false;
  const { Type } = await client.send(new sdk.GetOperationDetailCommand({ OperationId: id }));
  return Type === "DELETE_DOMAIN";
}

/** The errors by which Route 53 says that a name cannot be deleted. */
const undeletable = new Set(["TLDRulesViolation", "UnsupportedTLD", "InvalidInput"]);

/**
 * Deletes a registration permanently. Some registries do not allow this. Their names stay ours until the registration
 * ends, and are not renewed.
 */
export async function deleteRegistration(domains: Domains, name: string): Promise<void> {
  const { client, sdk } = domains;
  try {
    await client.send(new sdk.DeleteDomainCommand({ DomainName: name }));
  } catch (error) {
    if (isNotFound(error)) return;
    if (error instanceof sdk.DuplicateRequest && (await isDeletion(domains, error.requestId))) return;
    if (!undeletable.has(codeOf(error))) throw error;
    await stopAutoRenew(domains, name);
  }
}
