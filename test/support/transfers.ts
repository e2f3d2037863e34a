import { randomUUID } from "node:crypto";

import { advanceDueTransfer } from "../../functions/workers/advance-domains.ts";
import type { StoredDomain } from "../../shared/domains/domain.ts";
import type { DomainWork } from "../../shared/domains/setup/work.ts";
import { registerElsewhere, registeredNameKey } from "../../shared/providers/registrar/embedded-names.ts";
import { newWorkspace } from "./auth.ts";
import { contact } from "./contact.ts";
import { storedAs, workAt, write } from "./domain-work.ts";
import { domainsRequest, uniqueName } from "./domains.ts";
import type { Answer } from "./request.ts";
import { testTable, type Account } from "./world.ts";

/** The auth code of every name that `nameElsewhere` makes. */
export const authCode = "Sesame-Open-7421";

/** The nameservers of every name that `nameElsewhere` makes. */
export const oldNameservers = ["ns1.old.example", "ns2.old.example"];

/** Makes a .com name at another registrar. Its transfer costs 14.00. */
export async function nameElsewhere(prefix = "", given: Parameters<typeof registerElsewhere>[2] = {}): Promise<string> {
  const name = `${prefix}${uniqueName()}`;
  await registerElsewhere(testTable(), name, { auth_code: authCode, nameservers: oldNameservers, ...given });
  return name;
}

/** Sets a name at the registry to the state after a failed transfer, without waiting for the failure. */
export const endFailed = (name: string): Promise<void> =>
  write({
    put: {
      ...registeredNameKey(name),
      holder: "elsewhere",
      version: 9,
      auth_code: authCode,
      nameservers: oldNameservers,
    },
  });

/** Asks to transfer names with their auth code, in a new workspace unless one is given. */
export async function transfer(
  account: Account,
  names: readonly string[],
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const workspace_id = more["workspace_id"] ?? (await newWorkspace(account, `For ${names[0]} ${randomUUID()}`));
  const domains = names.map((name) => ({ name, auth_code: authCode }));
  const body = { domains, contact_info: contact, ...more, workspace_id };
  return domainsRequest(account, "POST", "/transfer", body, headers);
}

/** Runs the worker for a name's transfer once, at its due time. */
export async function lookAtTransfer(
  account: Pick<Account, "id">,
  name: string,
  others: Partial<DomainWork> = {},
): Promise<void> {
  const { id, transfer } = await storedAs(account, name);
  const due = transfer?.due_at ?? "";
  await advanceDueTransfer(account.id, id, due, workAt(new Date(due), others));
}

/** Runs the worker for a name's transfer at each due time, until the transfer is over. */
export async function transferred(
  account: Pick<Account, "id">,
  name: string,
  others: Partial<DomainWork> = {},
): Promise<StoredDomain> {
  for (let times = 0; times < 200; times++) {
    const domain = await storedAs(account, name);
    if (domain.transfer?.due_at === null) return domain;
    await lookAtTransfer(account, name, others);
  }
  throw new Error(`${name} is still being transferred`);
}
