import { accountKey, StoredAccount } from "../../accounts/account.ts";
import { clock } from "../../core/time.ts";
import { domainKey, holderKey, StoredDomain } from "../../domains/domain.ts";
import { StoredHolder } from "../../domains/holder.ts";
import type { Reader } from "../../table/table.ts";
import { planStanding, stateKey, type PlanStanding } from "../../wallet/state.ts";
import { appPasswordsKey, StoredAppPasswords } from "../app-passwords/app-password.ts";
import { hasRules } from "../forwarding/copies.ts";
import { addressKey, anyLocal, mailboxKey, StoredAddress, StoredMailbox } from "../mailboxes/mailbox.ts";

/** The account, domain and mailbox of an address. */
export type Recipient = {
  accountId: string;
  account: StoredAccount | undefined;
  plan: PlanStanding;
  domain: StoredDomain | undefined;
  /**
   * Whether the account has proved that it owns the name, and no other account can take the name over. Connecting a
   * name proves nothing, because any account can connect any name.
   */
  isProved: boolean;
  address: StoredAddress | undefined;
  mailbox: StoredMailbox | undefined;
  /** The app passwords of the mailbox. Undefined without the option `withAppPasswords`, and if there are none. */
  appPasswords: StoredAppPasswords | undefined;
  /** Whether the account has a forwarding rule. False without the option `forDelivery`. */
  hasRules: boolean;
};

/**
 * Whether an account's mailboxes can be used. They cannot be used if the account is suspended or closed, or has had no
 * plan for 30 days.
 */
export const isInUse = (account: Pick<StoredAccount, "status"> | undefined, plan: PlanStanding): boolean =>
  (account?.status === "active" || account?.status === "past_due") && plan !== "lapsed";

/** Whether the domain is open and proved, and no other account can take the name over. */
export const isProvedBy = (holder: StoredHolder | undefined, domain: StoredDomain): boolean =>
  holder?.firm === true && domain.id === holder.domain_id && domain.is_open && domain.verified_at !== null;

/**
 * Ids that belong to nothing. A login looks them up if there is no domain or mailbox, so that the lookup always takes
 * equally long.
 */
const nobody = {
  account_id: "00000000-0000-0000-0000-000000000000",
  domain_id: "00000000-0000-8000-8000-000000000000",
};

/**
 * Looks up an address in the domains of all accounts, in three round trips. Without `forDelivery` the lookup takes
 * three round trips also if the domain, the address or the mailbox does not exist.
 * - `forDelivery`: an address without a mailbox leads to the mailbox with the domain's catch-all. Whether the account
 *   has a forwarding rule is read in one batch with the domain. The lookup of an address that nobody has ends after two
 *   round trips, or after one if the domain is not here, because most mail for unknown addresses is spam.
 * - `withAppPasswords`: the app passwords of the mailbox are read in one batch with the mailbox.
 */
export async function findRecipient(
  table: Reader,
  { local, domain: name }: { local: string; domain: string },
  { forDelivery = false, withAppPasswords = false }: { forDelivery?: boolean; withAppPasswords?: boolean },
): Promise<Recipient> {
  const holder = await table.get(holderKey(name), StoredHolder);
  const { account_id: accountId, domain_id } = holder ?? nobody;
  const locals = forDelivery ? [local, anyLocal] : [local];
  const keys = [
    domainKey(accountId, domain_id),
    accountKey(accountId),
    stateKey(accountId),
    ...locals.map((part) => addressKey(accountId, domain_id, part)),
  ];
  const isUnknown = forDelivery && holder === undefined;
  const [[domainItem, accountItem, billingItem, own, catchAll], isForwarding] = await Promise.all([
    isUnknown ? [] : table.getMany(keys),
    forDelivery && !isUnknown && hasRules(table, accountId),
  ]);
  const domain = domainItem ? StoredDomain.parse(domainItem) : undefined;
  const isOurs = domain?.id === domain_id && domain.is_open;
  const addressItem = isOurs ? (own ?? catchAll) : undefined;
  const address = addressItem && StoredAddress.parse(addressItem);
  const mailboxId = address?.mailbox_id ?? nobody.domain_id;
  const mailboxKeys = [
    mailboxKey(accountId, mailboxId),
    ...(withAppPasswords ? [appPasswordsKey(accountId, mailboxId)] : []),
  ];
  const [mailboxItem, passwordsItem] = forDelivery && !address ? [] : await table.getMany(mailboxKeys);
  const mailbox = mailboxItem && StoredMailbox.parse(mailboxItem);
  const isHere = address !== undefined && mailbox?.id === address.mailbox_id;
  return {
    accountId,
    account: accountItem ? StoredAccount.parse(accountItem) : undefined,
    plan: planStanding(billingItem, clock()),
    domain: isOurs ? domain : undefined,
    isProved: domain !== undefined && isProvedBy(holder, domain),
    address,
    mailbox: isHere ? mailbox : undefined,
    appPasswords: isHere && passwordsItem ? StoredAppPasswords.parse(passwordsItem) : undefined,
    hasRules: isForwarding,
  };
}
