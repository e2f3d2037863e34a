import type { GetDomainDetailResponse } from "@aws-sdk/client-route-53-domains";

import type { Registration } from "./registrar.ts";
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

/** Whether a name is registered in our AWS account. */
export const isOurs = async (domains: Domains, name: string): Promise<boolean> =>
  (await detailOf(domains, name)) !== undefined;

/** The registration of a name in our AWS account, from Route 53's own records; undefined when there is none. */
export async function registration(domains: Domains, name: string): Promise<Registration | undefined> {
  const detail = await detailOf(domains, name);
  if (!detail) return undefined;
  return {
    expiresAt: requireValue(detail.ExpirationDate).toISOString(),
    locked: (detail.StatusList ?? []).some((status) => status.startsWith("clientTransferProhibited")),
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

export async function setAutoRenew({ client, sdk }: Domains, name: string, autoRenew: boolean): Promise<void> {
  await (autoRenew
    ? client.send(new sdk.EnableDomainAutoRenewCommand({ DomainName: name }))
    : client.send(new sdk.DisableDomainAutoRenewCommand({ DomainName: name })));
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
 * Deletes a registration permanently. Some registries do not allow this. For their names it turns renewal off, and the
 * name is ours until the end of its year.
 */
export async function deleteRegistration(domains: Domains, name: string): Promise<void> {
  const { client, sdk } = domains;
  try {
    await client.send(new sdk.DeleteDomainCommand({ DomainName: name }));
  } catch (error) {
    if (isNotFound(error)) return;
    if (error instanceof sdk.DuplicateRequest && (await isDeletion(domains, error.requestId))) return;
    if (!undeletable.has(codeOf(error))) throw error;
    await setAutoRenew(domains, name, false);
  }
}
