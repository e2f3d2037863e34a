import { accountKey, StoredAccount } from "../../accounts/account.ts";
import { clock } from "../../core/time.ts";
import { domainKey, holderKey, sendsMail, StoredDomain } from "../../domains/domain.ts";
import { StoredHolder } from "../../domains/holder.ts";
import { readName } from "../../domains/name.ts";
import { Dkim, dkimKey } from "../../domains/records/dkim-keys.ts";
import { absoluteName } from "../../domains/records/names.ts";
import { dkimRecord } from "../../domains/records/system-records.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Reader } from "../../table/table.ts";
import { planStanding, stateKey } from "../../wallet/state.ts";
import { isInUse, isProvedBy } from "./find-account.ts";

/** The key that signs a domain's mail (RFC 6376), with its private half as PKCS #8 in PEM. */
type SigningKey = {
  domain: string;
  selector: string;
  private_key: string;
  /** The TXT record by which receivers check the signatures. */
  public_key_record: { name: string; value: string };
};

/**
 * Decrypts the key that signs the mail of the domain with this name. The name can be in any spelling. Undefined if
 * there is no such domain or key, or if the domain may not send for one of these reasons:
 * - The account has not proved that it owns the name.
 * - The domain is not ready to send (`sendsMail`).
 * - The account is not in use (`isInUse`).
 *
 * Throws 503 if the key service does not answer.
 */
export async function signingKey(
  given: string,
  { table, secrets }: { table: Reader; secrets: Secrets },
): Promise<SigningKey | undefined> {
  const read = readName(given);
  if ("fault" in read) return undefined;
  const holder = await table.get(holderKey(read.name), StoredHolder);
  if (!holder) return undefined;
  const { account_id, domain_id } = holder;
  const [domainItem, accountItem, billingItem, dkimItem] = await table.getMany([
    domainKey(account_id, domain_id),
    accountKey(account_id),
    stateKey(account_id),
    dkimKey(account_id, domain_id),
  ]);
  if (!domainItem || !accountItem || !dkimItem) return undefined;
  const domain = StoredDomain.parse(domainItem);
  if (!isProvedBy(holder, domain) || !sendsMail(domain)) return undefined;
  if (!isInUse(StoredAccount.parse(accountItem), planStanding(billingItem, clock()))) return undefined;
  const key = Dkim.parse(dkimItem);
  const { name, value } = dkimRecord(key);
  return {
    domain: domain.name,
    selector: key.selector,
    private_key: await secrets.open(key.sealed_private_key, { account_id, dkim_of: domain_id }),
    public_key_record: { name: absoluteName(name, domain.name), value },
  };
}
