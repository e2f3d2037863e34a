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

/** A .com name that another registrar has. Its transfer costs 14.00. */
export async function nameElsewhere(prefix = "", given: Parameters<typeof registerElsewhere>[2] = {}): Promise<string> {
  const name = `${prefix}${uniqueName()}`;
  await registerElsewhere(testTable(), name, { auth_code: authCode, nameservers: oldNameservers, ...given });
  return name;
}

/** Has the registry end a transfer that failed: it is asked at present, and the failure lies ahead. */
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

/** Asks to transfer names by their auth code, in a workspace of their own unless one is given. */
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

/** Has the worker look at a name's transfer once, when it is due. */
export async function lookAtTransfer(
  account: Pick<Account, "id">,
  name: string,
  others: Partial<DomainWork> = {},
): Promise<void> {
  const { id, transfer } = await storedAs(account, name);
  const due = transfer?.due_at ?? "";
  await advanceDueTransfer(account.id, id, due, workAt(new Date(due), others));
}

/** Has the worker go on with a name's transfer, each time at the moment it is due, until it is over. */
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
