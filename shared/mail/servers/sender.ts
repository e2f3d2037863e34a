import { accountKey, StoredAccount } from "../../accounts/account.ts";
import { endpointText } from "../../core/endpoint.ts";
import { hostAccess, sendingRoute, type HostAccess } from "../../dedicated-ips/relay.ts";
import { readWarmUp } from "../../dedicated-ips/warm-up.ts";
import { domainKey, holderKey, sendsMail, StoredDomain } from "../../domains/domain.ts";
import { StoredHolder } from "../../domains/holder.ts";
import { signingOf } from "../../domains/records/dkim-keys.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Reader } from "../../table/table.ts";
import { planStanding, stateKey, type PlanStanding } from "../../wallet/state.ts";
import { readAddress, readUntagged } from "../mailboxes/local-part.ts";
import { addressKey, anyLocal, mailboxKey, StoredAddress, StoredMailbox } from "../mailboxes/mailbox.ts";
import { readRecipient, unquoteAddress } from "../suppressions/recipient.ts";
import { isSuppressed } from "../suppressions/suppression.ts";
import { isInUse, isProvedBy } from "./find-account.ts";

/** Why a mailbox may not send: the code, and the text for an SMTP reply. */
const refusals = {
  not_yours: "This login may not send from this address.",
  mailbox_paused: "The mailbox is paused and may not send.",
  account_suspended: "The account may not send: it is suspended or closed, or has had no plan for 30 days.",
  plan_required: "The account has no plan and may not send.",
  domain_not_ready: "The domain is not ready to send.",
  bad_recipient: "The recipient is not an address that mail can be sent to.",
  suppressed: "The recipient is suppressed: mail to it bounced, was reported as spam, or is not wanted.",
  warm_up_limit: "The dedicated IP has sent its mails of today. Its limit grows daily. Try again tomorrow.",
} as const;
type RefusalCode = keyof typeof refusals;

/** How the mail leaves: from the shared addresses, from a managed dedicated IP, or through the customer's own host. */
type Route =
  | { kind: "shared" }
  | ({
      kind: "dedicated" | "own_host";
      dedicated_ip_id: string;
      /** The addresses that the mail leaves from. */
      source_ips: string[];
      /** The server that sends from these addresses, as `address:port`. */
      relay: string;
    } & HostAccess);

/**
 * The services for a verdict. `secrets` decrypts the password at a customer's own host. Without `secrets`, the verdict
 * has no `relay_login`.
 */
type SenderWork = { table: Reader; secrets?: Pick<Secrets, "open">; now: () => Date };

/** The mailbox of a login. */
type Mailbox = { mailbox_id: string; account_id: string; domain_id: string; address: string };

/**
 * The number of mails that a managed dedicated IP may send today during its warm-up, and the number that it has sent
 * today.
 */
type Limit = { per_day: number; sent_today: number };

/**
 * Whether a login may send from an address. `dkim` says which key signs the mail. `is_suppressed` is there only if the
 * question names a recipient.
 */
export type Verdict =
  | (Mailbox & {
      allowed: true;
      is_suppressed?: false;
      dkim: { domain: string; selector: string };
      route: Route;
      limit?: Limit;
    })
  | (Partial<Mailbox> & {
      allowed: false;
      is_suppressed?: true;
      limit?: Limit;
      reason: { code: RefusalCode; message: string };
    });

type Refused = Extract<Verdict, { allowed: false }>;

const refused = (code: RefusalCode, more: Partial<Omit<Refused, "allowed" | "reason">> = {}): Refused => ({
  allowed: false,
  reason: { code, message: refusals[code] },
  ...more,
});

/** A character that a local part has only in quotes or a comment (RFC 5321 §4.1.2, RFC 5322 §3.2.3). */
const special = /[\s"\\(),:;<>[\]]/;

/**
 * Reads the address of a sender, without its tag, and without `<` and `>`. For a login, refuses quotes, comments and
 * spaces, because they can write the address of another mailbox in a second way, or end the address in a mail. For
 * queued mail, the local part can be in quotes, because mail servers put unusual local parts in quotes.
 */
function readFrom(from: string, isQueued: boolean): ReturnType<typeof readUntagged> {
  const text = from.replace(/^<(.*)>$/, "$1");
  if (isQueued) return readUntagged(unquoteAddress(text));
  return special.test(text) ? undefined : readUntagged(text);
}

/**
 * Whether a mailbox that logged in as `login` may send from the address `from` now, and how the mail leaves.
 * - A mailbox sends from its address and its aliases, with any tag after a plus sign.
 * - The mailbox with the catch-all sends also from every address of the domain that no mailbox has.
 * - An empty `from` is the null reverse-path of RFC 5321 §4.5.5, from which every mailbox sends.
 * - With a `to` that is not empty, no mail goes to a recipient that the account has suppressed, and none to a text that
 *   is no address.
 * - During its warm-up, a managed dedicated IP sends no more mails a day than the limit of the day.
 *
 * Without `login`, the question is about mail that waits in the queue of a mail server. The sender is then the mailbox
 * that sends from the address `from` now. The reason is `domain_not_ready` if the domain of `from` is not here, and
 * `not_yours` if no mailbox sends from `from`. The limit of the warm-up does not apply, because the mail was counted
 * when it was accepted.
 *
 * Throws 503 if the key service does not answer.
 */
export async function senderVerdict(
  work: SenderWork,
  { login, from, to }: { login: string | undefined; from: string; to?: string | undefined },
): Promise<Verdict> {
  const { table } = work;
  const isQueued = login === undefined;
  const user = isQueued ? readFrom(from, true) : readAddress(login);
  const sender = from === "" ? user : readFrom(from, isQueued);
  if (!user) return refused("not_yours");
  const found = await findLogin(work, user, sender?.local ?? user.local, isQueued);
  if (!found) return refused(isQueued ? "domain_not_ready" : "not_yours");
  const { domain, mailbox } = found;
  if (!mailbox && !isQueued) return refused("not_yours");
  const own = mailbox && {
    mailbox_id: mailbox.id,
    account_id: domain.account_id,
    domain_id: domain.id,
    address: `${mailbox.local_part}@${domain.name}`,
  };
  if (!isInUse(found.account, found.plan)) return refused("account_suspended", own);
  if (found.plan !== "active") return refused("plan_required", own);
  if (!found.isProved || !sendsMail(domain)) return refused("domain_not_ready", own);
  if (!mailbox || !own) return refused("not_yours");
  if (mailbox.status !== "active") return refused("mailbox_paused", own);
  if (sender?.domain !== domain.name || found.ownerOfSender !== mailbox.id) return refused("not_yours", own);
  if (to !== undefined && to !== "" && readRecipient(to) === undefined) return refused("bad_recipient", own);
  const [isListed, { route, limit }] = await Promise.all([
    to === undefined ? undefined : isSuppressed(table, domain.account_id, to),
    routeOf(work, domain),
  ]);
  if (isListed) return refused("suppressed", { ...own, is_suppressed: true });
  if (!isQueued && limit && limit.sent_today >= limit.per_day) return refused("warm_up_limit", { ...own, limit });
  return {
    allowed: true,
    ...own,
    ...(isListed === undefined ? {} : { is_suppressed: isListed }),
    dkim: { domain: domain.name, selector: signingOf(domain).selector },
    route,
    ...(limit ? { limit } : {}),
  };
}

async function routeOf(
  { table, secrets, now }: SenderWork,
  domain: StoredDomain,
): Promise<{ route: Route; limit?: Limit }> {
  const route = await sendingRoute(table, domain);
  if (route.kind === "shared") return { route };
  const { kind, ip, relay } = route;
  const source_ips = ip.addresses.map((address) => address.ip);
  const access = kind === "own_host" ? await hostAccess(ip, secrets) : {};
  const warmUp = await readWarmUp(table, ip, now());
  return {
    route: { kind, dedicated_ip_id: ip.id, source_ips, relay: endpointText(relay), ...access },
    ...(warmUp ? { limit: { per_day: warmUp.daily_limit, sent_today: warmUp.sent_today } } : {}),
  };
}

/**
 * The domain of a login, the mailbox of the login, and the id of the mailbox that has the address of the sender in the
 * same domain.
 */
type Login = {
  account: StoredAccount | undefined;
  plan: PlanStanding;
  domain: StoredDomain;
  isProved: boolean;
  mailbox: StoredMailbox | undefined;
  ownerOfSender: string | undefined;
};

/**
 * Finds the mailbox of a login: the mailbox that has the login as its address or alias. For queued mail, finds the
 * mailbox that sends from the address of the sender. Returns undefined if the domain is not here. `mailbox` is
 * undefined if no mailbox is found.
 */
async function findLogin(
  { table, now }: SenderWork,
  { local, domain: name }: { local: string; domain: string },
  senderLocal: string,
  isQueued: boolean,
): Promise<Login | undefined> {
  const holder = await table.get(holderKey(name), StoredHolder);
  if (!holder) return undefined;
  const { account_id: accountId, domain_id: domainId } = holder;
  const locals = [local, senderLocal, anyLocal];
  const [domainItem, accountItem, billingItem, ...addressItems] = await table.getMany([
    domainKey(accountId, domainId),
    accountKey(accountId),
    stateKey(accountId),
    ...locals.map((one) => addressKey(accountId, domainId, one)),
  ]);
  const domain = domainItem && StoredDomain.parse(domainItem);
  if (domain?.id !== domainId || !domain.is_open) return undefined;
  const [exact, sender, catchAll] = addressItems.map((item) => item && StoredAddress.parse(item));
  const named = exact?.kind === "catch_all" ? undefined : exact;
  const own = isQueued ? (sender ?? catchAll) : named;
  const mailbox = own && (await table.get(mailboxKey(accountId, own.mailbox_id), StoredMailbox));
  return {
    account: accountItem && StoredAccount.parse(accountItem),
    plan: planStanding(billingItem, now()),
    domain,
    isProved: isProvedBy(holder, domain),
    mailbox: mailbox?.id === own?.mailbox_id ? mailbox : undefined,
    ownerOfSender: (sender ?? catchAll)?.mailbox_id,
  };
}
