import type { GetDomainDetailResponse } from "@aws-sdk/client-route-53-domains";

import { later } from "../../core/time.ts";
import { renewalGraceMs, redemptionMs, type Registration } from "./registrar.ts";
import { codeOf, requireValue, type Domains } from "./route53-client.ts";

/** Whether Route 53 does not have the name: InvalidInput, "Domain example.com not found in 111122223333 account." */
const isNotFound = (error: unknown): boolean =>
  codeOf(error) === "InvalidInput" && error instanceof Error && /not found|does not exist/i.test(error.message);

async function detailOf({ client, sdk }: Domains, name: string): Promise<GetDomainDetailResponse | undefined> {
  try {
    return await client.send(new sdk.GetDomainDetailCommand({ DomainName: name }));
  } catch (error) {
    if (isNotFound(error) || codeOf(error) === "UnsupportedTLD") return undefined;
    throw error;
  }
}

/** When the registration of a name in our AWS account ends; undefined when there is none. */
export async function expiryOf(domains: Domains, name: string): Promise<Date | undefined> {
  const detail = await detailOf(domains, name);
  return detail && requireValue(detail.ExpirationDate);
}

/** An EPP status without the address of its explanation: `clientTransferProhibited https://icann.org/epp#…`. */
const statusOf = (status: string): string => status.split(/\s/, 1)[0] ?? "";

/**
 * The registration of a name in our AWS account, from Route 53's own records; undefined when there is none. Route 53 does
 * not tell how long the grace and the redemption last, so they last as at most registries.
 */
export async function registration(domains: Domains, name: string, now: Date): Promise<Registration | undefined> {
  const detail = await detailOf(domains, name);
  if (!detail) return undefined;
  const end = requireValue(detail.ExpirationDate);
  const statuses = (detail.StatusList ?? []).map(statusOf);
  const graceEndsAt = later(end, renewalGraceMs);
  const isOver = statuses.includes("redemptionPeriod") || graceEndsAt <= now.toISOString();
  return {
    expiresAt: end.toISOString(),
    phase: isOver ? "redemption" : end <= now ? "grace" : "registered",
    graceEndsAt,
    redemptionEndsAt: later(end, renewalGraceMs + redemptionMs),
    statuses,
    autoRenew: detail.AutoRenew ?? false,
    nameservers: (detail.Nameservers ?? []).map(({ Name }) => requireValue(Name).replace(/\.$/, "").toLowerCase()),
  };
}

/** Asks the registry to delegate a name to these nameservers; this takes effect a little later. */
export async function setNameservers(
  { client, sdk }: Domains,
  name: string,
  nameservers: readonly string[],
): Promise<void> {
  const named = nameservers.map((host) => ({ Name: host }));
  await client.send(new sdk.UpdateDomainNameserversCommand({ DomainName: name, Nameservers: named }));
}

/** Stops Route 53 from renewing a name by itself. */
export async function stopAutoRenew({ client, sdk }: Domains, name: string): Promise<void> {
  await client.send(new sdk.DisableDomainAutoRenewCommand({ DomainName: name }));
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
 * Deletes a registration permanently. Some registries do not allow this. Their names are ours until the end
 * of their years, and are not renewed.
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
