import * as z from "zod";

import type { Scope } from "../../auth/permissions.ts";
import { Id } from "../../core/ids.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainById, domainByName, scopesOfDomain } from "../../domains/find.ts";
import type { ResourceLookup } from "../../http/route.ts";
import type { Reader } from "../../table/table.ts";
import { MailboxRef, readAddress } from "./local-part.ts";
import { addressKey, mailboxKey, StoredAddress, StoredMailbox } from "./mailbox.ts";

export const MailboxParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  mailbox: MailboxRef,
});

/** The mailbox with this id; undefined when the account has none. */
export async function mailboxById(table: Reader, accountId: string, id: string): Promise<StoredMailbox | undefined> {
  const mailbox = await table.get(mailboxKey(accountId, id), StoredMailbox);
  return mailbox?.id === id ? mailbox : undefined;
}

export type FoundMailbox = { mailbox: StoredMailbox; domain: StoredDomain };

/** The mailbox with this id or primary address, with its domain; undefined when the account has none. */
export async function mailboxByRef(table: Reader, accountId: string, ref: string): Promise<FoundMailbox | undefined> {
  const address = readAddress(ref);
  if (!address) {
    const mailbox = await mailboxById(table, accountId, ref);
    const domain = mailbox && (await domainById(table, accountId, mailbox.domain_id));
    return mailbox && domain && { mailbox, domain };
  }
  const domain = await domainByName(table, accountId, address.domain);
  const owner = domain && (await table.get(addressKey(accountId, domain.id, address.local), StoredAddress));
  if (!domain || owner?.kind !== "mailbox") return undefined;
  const mailbox = await mailboxById(table, accountId, owner.mailbox_id);
  return mailbox && { mailbox, domain };
}

/** The scopes of a mailbox: the mailbox itself, its domain and its workspace. Grants can be narrowed to any of them. */
export const scopesOfMailbox = ({ mailbox, domain }: FoundMailbox): Scope[] => [
  { type: "mailbox", id: mailbox.id },
  ...scopesOfDomain(domain),
];

/** The mailbox in the path of a route, with its domain. */
export const mailboxInPath: ResourceLookup<{ params: { account_id: string; mailbox: string } }, FoundMailbox> = {
  at: "path",
  within: ["mailbox", "domain", "workspace"],
  find: async ({ params }, table) => {
    const thing = await mailboxByRef(table, params.account_id, params.mailbox);
    return thing && { id: thing.mailbox.id, scopes: scopesOfMailbox(thing), thing };
  },
};
