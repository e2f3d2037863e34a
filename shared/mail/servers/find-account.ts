import { accountKey, StoredAccount } from "../../accounts/account.ts";
import { domainKey, holderKey, StoredDomain } from "../../domains/domain.ts";
import { StoredHolder } from "../../domains/holder.ts";
import type { Reader } from "../../table/table.ts";
import { addressKey, anyLocal, mailboxKey, StoredAddress, StoredMailbox } from "../mailboxes/mailbox.ts";

/** The account, domain and mailbox of an address. */
export type Recipient = {
  accountId: string;
  account: StoredAccount | undefined;
  domain: StoredDomain | undefined;
  /**
   * Whether the account has proved that it owns the name, and holds it firmly. Connecting a name proves nothing,
   * because any account can connect any name.
   */
  isProved: boolean;
  address: StoredAddress | undefined;
  mailbox: StoredMailbox | undefined;
};

/** Ids that belong to nothing. They are looked up if there is no domain or mailbox, so that the time is the same. */
const nobody = {
  account_id: "00000000-0000-0000-0000-000000000000",
  domain_id: "00000000-0000-8000-8000-000000000000",
};

/**
 * Looks up an address in the domains of all accounts. It takes the same three round trips whether or not the domain, the
 * address or the mailbox exists. With `withCatchAll`, the catch-all of the domain answers for an address without a
 * mailbox.
 */
export async function findRecipient(
  table: Reader,
  { local, domain: name }: { local: string; domain: string },
  withCatchAll: boolean,
): Promise<Recipient> {
  const holder = await table.get(holderKey(name), StoredHolder);
  const { account_id: accountId, domain_id } = holder ?? nobody;
  const [domainItem, accountItem, own, catchAll] = await table.getMany([
    domainKey(accountId, domain_id),
    accountKey(accountId),
    ...[local, anyLocal].map((part) => addressKey(accountId, domain_id, part)),
  ]);
  const domain = domainItem ? StoredDomain.parse(domainItem) : undefined;
  const isOurs = domain?.id === domain_id && domain.is_open;
  const addressItem = isOurs ? (own ?? (withCatchAll ? catchAll : undefined)) : undefined;
  const address = addressItem && StoredAddress.parse(addressItem);
  const mailbox = await table.get(mailboxKey(accountId, address?.mailbox_id ?? nobody.domain_id), StoredMailbox);
  return {
    accountId,
    account: accountItem ? StoredAccount.parse(accountItem) : undefined,
    domain: isOurs ? domain : undefined,
    isProved: isOurs && holder?.firm === true && domain.verified_at !== null,
    address,
    mailbox: address && mailbox?.id === address.mailbox_id ? mailbox : undefined,
  };
}
