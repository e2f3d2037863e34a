import * as z from "zod";

import { domainKey, nameKey, StoredDomain } from "../domains/domain.ts";
import type { FoundMailbox } from "../mailboxes/find.ts";
import { readAddress } from "../mailboxes/local-part.ts";
import { addressKey, mailboxKey, StoredAddress, StoredMailbox } from "../mailboxes/mailbox.ts";
import type { Reader } from "../table/table.ts";

const Pointer = z.object({ domain_id: z.string() });

/** The local part without what stands behind a plus: mail to ada+lists comes to ada. */
export const withoutTag = (local: string): string => local.replace(/(?<=.)\+.*$/s, "");

/**
 * The mailboxes of an account that addresses lead to, as their own or one of their aliases. Three round trips for
 * however many addresses.
 */
export async function mailboxesAt(
  table: Reader,
  accountId: string,
  addresses: readonly string[],
): Promise<Map<string, FoundMailbox>> {
  const asked = addresses.flatMap((address) => {
    const read = readAddress(address);
    return read ? [{ address, local: withoutTag(read.local), name: read.domain }] : [];
  });
  const pointers = await table.getMany(asked.map(({ name }) => nameKey(accountId, name)));
  const located = asked.flatMap((one, index) => {
    const pointer = pointers[index];
    return pointer ? [{ ...one, domainId: Pointer.parse(pointer).domain_id }] : [];
  });
  const [domains, owners] = await Promise.all([
    table.getMany(located.map(({ domainId }) => domainKey(accountId, domainId))),
    table.getMany(located.map(({ domainId, local }) => addressKey(accountId, domainId, local))),
  ]);
  const owned = located.flatMap(({ address, domainId }, index) => {
    const domain = domains[index] && StoredDomain.parse(domains[index]);
    const owner = owners[index] && StoredAddress.parse(owners[index]);
    return owner && domain?.id === domainId && domain.is_open ? [{ address, domain, id: owner.mailbox_id }] : [];
  });
  const rows = await table.getMany(owned.map(({ id }) => mailboxKey(accountId, id)));
  return new Map(
    owned.flatMap(({ address, domain, id }, index) => {
      const mailbox = rows[index] && StoredMailbox.parse(rows[index]);
      return mailbox?.id === id ? [[address, { mailbox, domain }] as const] : [];
    }),
  );
}
