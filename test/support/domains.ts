import { randomBytes } from "node:crypto";

import { nameserversOf } from "../../shared/core/platform.ts";
import type { DnsMode, Domain } from "../../shared/domains/domain.ts";
import { delegate } from "../../shared/providers/registrar/embedded-names.ts";
import { newWorkspace } from "./auth.ts";
import { fund } from "./billing.ts";
import { contact } from "./contact.ts";
import { request, type Answer } from "./request.ts";
import { testTable, type Account } from "./world.ts";

/** A name that no other test has. */
export const uniqueName = (label = "d", tld = "com"): string => `${label}${randomBytes(6).toString("hex")}.${tld}`;

/** Sends a request about the account's domains for its owner. */
export const domainsRequest = (
  { id, owner }: Account,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  request(method, `/v1/public/accounts/${id}/domains${path}`, { token: owner.token, body, headers });

/** A domain of the account as its owner reads it, by its name or id. */
export const readDomain = async (account: Account, domain: string): Promise<Answer["body"]> =>
  (await domainsRequest(account, "GET", `/${domain}`)).body;

/** The first hundred domains of the account, and their total. */
export const listedDomains = async (account: Account): Promise<{ items: Domain[]; total: number }> =>
  (await domainsRequest(account, "GET", "?page_size=100")).body;

/** Asks to connect a name in a workspace. */
export const connect = (
  account: Account,
  name: unknown,
  workspace_id: string,
  more: { dns_mode?: DnsMode } = {},
): Promise<Answer> => domainsRequest(account, "POST", "", { name, workspace_id, ...more });

/** The number of domains of the account, and the number in a workspace. */
export const domainTotals = async (
  account: Account,
  workspaceId: string,
): Promise<[all: number, inWorkspace: number]> => [
  (await domainsRequest(account, "GET", "")).body.total,
  (await domainsRequest(account, "GET", `?workspace_id=${workspaceId}`)).body.total,
];

/** Nameservers that are not ours. */
export const elsewhere = ["ns1.other.example", "ns2.other.example"];

/** Asks to verify a domain of the account. */
export const verify = (account: Account, name: string): Promise<Answer> =>
  domainsRequest(account, "POST", `/${name}/verify`);

type Connected = Domain & { account: Account };

type Connecting = { name?: string; workspaceId?: string; dnsMode?: DnsMode };

/** Connects a domain to the account. Its name is not proved. */
export async function connected(
  account: Account,
  { name = uniqueName(), workspaceId, dnsMode = "hosted" }: Connecting = {},
): Promise<Connected> {
  const workspace_id = workspaceId ?? (await newWorkspace(account, `For ${name}`));
  const { status, body, text } = await connect(account, name, workspace_id, { dns_mode: dnsMode });
  if (status !== 201) throw new Error(text);
  return { ...(body as Domain), account };
}

/** Makes the parent zone delegate a name to the account that connected it. */
export const delegated = ({ id }: Pick<Account, "id">, name: string): Promise<void> =>
  delegate(testTable(), name, nameserversOf(id));

/** Makes an active domain of the account, with its system records in the zone. */
export async function active(account: Account, options: { name?: string; workspaceId?: string } = {}): Promise<Domain> {
  const { name } = await connected(account, options);
  await delegated(account, name);
  const { status, text } = await verify(account, name);
  if (status !== 200) throw new Error(text);
  return (await domainsRequest(account, "GET", `/${name}`)).body as Domain;
}

export { contact };

/** Puts an amount in minor units into an account's wallet. */
export async function funded(account: Account, amount = 100_000): Promise<Account> {
  await fund(account, amount);
  return account;
}

/** Buys names for the account, in a new workspace unless one is given. */
export async function purchase(
  account: Account,
  domains: readonly string[],
  more: Record<string, unknown> = {},
): Promise<Answer> {
  const workspace_id =
    more["workspace_id"] ?? (await newWorkspace(account, `For ${domains[0]} ${randomBytes(3).toString("hex")}`));
  return domainsRequest(account, "POST", "/purchase", { domains, contact_info: contact, ...more, workspace_id });
}
