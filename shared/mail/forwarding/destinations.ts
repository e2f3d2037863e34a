import * as z from "zod";

import { domainKey, holderKey, domainNameKey, StoredDomain } from "../../domains/domain.ts";
import { StoredHolder } from "../../domains/holder.ts";
import type { Reader } from "../../table/table.ts";
import type { Item, Key } from "../../table/writes.ts";
import type { FoundMailbox } from "../mailboxes/find.ts";
import { readAddress } from "../mailboxes/local-part.ts";
import { addressKey, anyLocal, mailboxKey, StoredAddress, StoredMailbox } from "../mailboxes/mailbox.ts";

const DomainPointer = z.object({ domain_id: z.string() });

/** The local part without its tag: mail to ada+lists goes to ada. */
export const withoutTag = (local: string): string => local.replace(/(?<=.)\+.*$/s, "");

/**
 * The destination of mail to an address in an account. `domain` is the domain of the address, proved or only connected.
 * `mailbox` is the mailbox that gets the mail, if there is such a mailbox.
 */
export type Destination = { domain: StoredDomain; isProved: boolean; mailbox?: FoundMailbox };

/** The items that `destinationsOf` reads first for an address. */
export function aheadOfAddress(accountId: string, address: string): Key[] {
  const read = readAddress(address);
  return read ? [domainNameKey(accountId, read.domain)] : [];
}

/**
 * Looks up addresses in an account. An address has no entry if its domain is not a domain of the account that is open
 * (`is_open`). The mailbox is the mailbox with this address, or else the catch-all mailbox of the domain. Takes three
 * round trips for any number of addresses.
 */
export async function destinationsOf(
  table: Reader,
  accountId: string,
  addresses: readonly string[],
): Promise<Map<string, Destination>> {
  const asked = [...new Set(addresses)].flatMap((address) => {
    const read = readAddress(address);
    return read ? [{ address, local: withoutTag(read.local), name: read.domain }] : [];
  });
  const pointers = await table.getMany(asked.map(({ name }) => domainNameKey(accountId, name)));
  const located = asked.flatMap((one, index) => {
    const pointer = pointers[index];
    return pointer ? [{ ...one, domainId: DomainPointer.parse(pointer).domain_id }] : [];
  });
  const keys = located.map(({ name, domainId, local }) => [
    domainKey(accountId, domainId),
    holderKey(name),
    addressKey(accountId, domainId, local),
    addressKey(accountId, domainId, anyLocal),
  ]);
  const items = await table.getMany(keys.flat());
  // Each address has four keys, so each address has four of the items.
  const found = located.flatMap(({ address, domainId }, index) => {
    const place = destinationIn(accountId, domainId, items.slice(index * 4, index * 4 + 4));
    return place ? [{ address, ...place }] : [];
  });
  const rows = await table.getMany(found.map(({ mailboxId }) => mailboxKey(accountId, mailboxId ?? "")));
  return new Map(
    found.map(({ address, domain, isProved, mailboxId }, index) => {
      const mailbox = rows[index] && StoredMailbox.parse(rows[index]);
      const isThere = mailbox !== undefined && mailbox.id === mailboxId;
      return [address, { domain, isProved, ...(isThere ? { mailbox: { mailbox, domain } } : {}) }];
    }),
  );
}

/**
 * The destination in a domain, with the id of the mailbox. `items` are the domain, the holder of its name, the address,
 * and the catch-all of the domain. Undefined if the domain is not open.
 */
function destinationIn(accountId: string, domainId: string, items: readonly (Item | undefined)[]) {
  const [row, holderRow, own, catchAll] = items;
  const domain = row && StoredDomain.parse(row);
  if (domain?.id !== domainId || !domain.is_open) return undefined;
  const holder = holderRow && StoredHolder.parse(holderRow);
  const isHeld = holder?.account_id === accountId && holder.domain_id === domainId && holder.firm;
  const address = own ?? catchAll;
  return {
    domain,
    isProved: isHeld && domain.verified_at !== null,
    mailboxId: address && StoredAddress.parse(address).mailbox_id,
  };
}
