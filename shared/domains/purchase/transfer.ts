import { covers } from "../../auth/permissions.ts";
import { change } from "../../changes/kind.ts";
import { timeOrderedId } from "../../core/ids.ts";
import type { Context } from "../../http/route.ts";
import type { Registrar } from "../../providers/registrar/registrar.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import type { Checkouts } from "../../wallet/topup.ts";
import { domainKind, isTransferring, type DnsMode, type StoredDomain } from "../domain.ts";
import { domainByName, scopesOfDomain } from "../find.ts";
import { unregistered, type Transfer } from "../registration-state.ts";
import { planNewDomains, type NewDomain } from "../setup/new.ts";
import { mayReuse } from "../setup/releasing.ts";
import { domainUpdate } from "../setup/work.ts";
import { domainView, domainChange } from "../view.ts";
import { holdIdOf, NameTaken, nameTakenAs, type OrderKind, type BatchPlace, type Wanted } from "./buy.ts";
import { planClaims } from "./claims.ts";
import { askQuotes, transferQuote } from "./offers.ts";
import { orderIdOf, placeOrder } from "./order.ts";
import { previewOrder } from "./preview.ts";
import { TransferAnswer, type TransferRequest } from "./requests.ts";
import type { OrderAnswer } from "./results.ts";

/** The context for sealing the auth code of a name. The code opens only with the same context (`Secrets`). */
export const sealContext = (accountId: string, name: string): Record<string, string> => ({
  account_id: accountId,
  transfer_of: name,
});

/**
 * Whether the name of `own`, a domain of the account, can be transferred to us. The status of the domain does not show
 * whether a transfer is running already, because the domain keeps its status during a transfer.
 */
const isTransferable = (own: StoredDomain): boolean =>
  own.source === "connected" && own.is_open && !isTransferring(own);

/** The state of a transfer that begins with the hold on its price. */
const newTransfer = ({ name, price, sealed_auth_code }: Wanted, { batchId, now }: BatchPlace): Transfer => ({
  id: timeOrderedId(now),
  batch_id: batchId,
  hold_id: holdIdOf(batchId, name),
  stage: "held",
  price,
  sealed_auth_code,
  started_at: now.toISOString(),
  reason: null,
  looks: 0,
  due_at: now.toISOString(),
});

/** Gives the auth code of each name in an order: as text, or sealed. */
type AuthCodes = { open: (name: string) => Promise<string>; sealed: (name: string) => Promise<string> };

type Planned = Awaited<ReturnType<OrderKind["plan"]>>;

/** Plans the domains of names that the account does not have. */
async function planFresh(
  table: Reader,
  place: BatchPlace,
  wanted: readonly Wanted[],
  { dnsMode, claim }: { dnsMode: DnsMode; claim: (domain: StoredDomain) => Write[] },
): Promise<Planned> {
  if (wanted.length === 0) return { domains: [], writes: [], changes: [] };
  const given = wanted.map((one): NewDomain => ({
    name: one.name,
    source: "purchased",
    dns_mode: dnsMode,
    status: "pending_transfer",
    auto_renew: true,
    due_at: null,
    registration: unregistered("pending"),
    transfer: newTransfer(one, place),
  }));
  const refusals = { taken: nameTakenAs("domain_taken"), exists: nameTakenAs("domain_exists"), claim };
  const { domains, writes } = await planNewDomains(table, place, given, refusals);
  const changes = domains.map((domain) => change(domainKind, "created", domain.id, { after: domainView(domain) }));
  return { domains, writes, changes };
}

/** Whether the caller may transfer the name of `own`, a domain of the account. */
type MayTake = (own: StoredDomain) => boolean;

/** Plans the transfer of a name that the account has connected. Of the domain's settings, only `auto_renew` changes. */
async function planKept(
  table: Reader,
  place: BatchPlace,
  one: Wanted,
  { own, claim, mayTake }: { own: StoredDomain; claim: (domain: StoredDomain) => Write[]; mayTake: MayTake },
): Promise<Planned> {
  if (!isTransferable(own) || !mayTake(own)) throw new NameTaken(one.name, "domain_exists");
  // A transfer switches the automatic renewal on, also for a domain that the account has already. The customer can
  // switch it off during the transfer.
  const members = { transfer: newTransfer(one, place), auto_renew: true, updated_at: place.now.toISOString() };
  const { after, writes } = domainUpdate(own, members);
  return {
    domains: [after],
    writes: [...writes, ...claim(after)],
    changes: [await domainChange(table, "updated", own, after)],
  };
}

/** Plans the domains of an order: new domains, and the domains that the account has already. */
async function planTransfers(
  table: Reader,
  place: BatchPlace,
  wanted: readonly Wanted[],
  { dnsMode, mayTake }: { dnsMode: DnsMode; mayTake: MayTake },
): Promise<Planned> {
  const { accountId } = place;
  const ownDomains = await Promise.all(wanted.map(({ name }) => domainByName(table, accountId, name)));
  const claim = await planClaims(table, accountId, wanted);
  const fresh = wanted.filter((_, index) => !ownDomains[index]);
  const kept = wanted.flatMap((one, index) => {
    const own = ownDomains[index];
    return own ? [planKept(table, place, one, { own, claim, mayTake })] : [];
  });
  const planned = await Promise.all([planFresh(table, place, fresh, { dnsMode, claim }), ...kept]);
  return {
    domains: planned.flatMap(({ domains }) => domains),
    writes: planned.flatMap(({ writes }) => writes),
    changes: planned.flatMap(({ changes }) => changes),
  };
}

/**
 * The order to transfer names. A name that the account has connected keeps its domain, and a `failed` domain is
 * replaced. `mayTake` says whether the caller may transfer the name of such a domain. `dnsMode` is the DNS mode of new
 * domains.
 */
export const transferOrder = (
  registrar: Registrar,
  codes: AuthCodes,
  dnsMode: DnsMode,
  mayTake: MayTake,
): OrderKind => ({
  type: "transfer",
  quotes: (names, patience) =>
    askQuotes(names, async (name) => transferQuote(registrar, name, await codes.open(name), dnsMode), patience),
  takesOwn: (own) => (own.status === "failed" || isTransferable(own)) && mayTake(own),
  prepare: (wanted) =>
    Promise.all(wanted.map(async (one) => ({ ...one, sealed_auth_code: await codes.sealed(one.name) }))),
  plan: (table, place, wanted) => planTransfers(table, place, wanted, { dnsMode, mayTake }),
  describe: (name) => `Transfer of ${name}, with a year`,
});

type TransferServices = { registrar: Registrar; secrets: Secrets; checkouts: () => Checkouts };

const readTransfer = (answer: OrderAnswer): TransferAnswer => TransferAnswer.parse(answer);

/**
 * Transfers names to us, as `placeOrder` does: holds their prices and starts their transfers. With `dry_run`, returns
 * the answer of `previewOrder`.
 */
export function transferDomains(
  accountId: string,
  { domains, dry_run, ...request }: TransferRequest,
  context: Context,
  { registrar, secrets, checkouts }: TransferServices,
): Promise<TransferAnswer> {
  // If a name has several entries, its first entry counts, and the others fail as `duplicate`. A map keeps the last
  // entry of a name, so the order of the entries is reversed.
  const codes = new Map(domains.map(({ name, auth_code }) => [name, auth_code] as const).toReversed());
  const open = async (name: string): Promise<string> => codes.get(name) ?? "";
  const sealed = async (name: string): Promise<string> => secrets.seal(await open(name), sealContext(accountId, name));
  const { permissions } = context;
  const mayTake = (own: StoredDomain): boolean =>
    own.status === "failed"
      ? mayReuse(permissions, own, request.workspace_id)
      : covers(permissions, "domain.purchase", scopesOfDomain(own));
  const order = {
    kind: transferOrder(registrar, { open, sealed }, request.dns_mode, mayTake),
    accountId,
    batchId: orderIdOf(accountId, "transfer", context),
    names: domains.map(({ name }) => name),
    request,
  };
  return dry_run ? previewOrder(order, readTransfer, context) : placeOrder(order, readTransfer, context, checkouts);
}
