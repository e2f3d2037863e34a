import { change } from "../../changes/kind.ts";
import type { Context } from "../../http/route.ts";
import type { Registrar } from "../../providers/registrar/registrar.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import type { Checkouts } from "../../wallet/topup.ts";
import { domainKind, regainedMembers, type StoredDomain } from "../domain.ts";
import { domainOfNewName } from "../find.ts";
import { unregistered } from "../registration-state.ts";
import { planMove } from "../setup/move.ts";
import { planNewDomains } from "../setup/new.ts";
import { isDetached, mayReuse } from "../setup/releasing.ts";
import { domainUpdate } from "../setup/work.ts";
import { domainView, domainChange } from "../view.ts";
import { holdIdOf, NameTaken, nameTakenAs, OneByOne, type BatchPlace, type OrderKind, type Wanted } from "./buy.ts";
import { planClaims } from "./claims.ts";
import { registrationQuotes } from "./offers.ts";
import { orderIdOf, placeOrder } from "./order.ts";
import { previewOrder } from "./preview.ts";
import { PurchaseAnswer, type PurchaseRequest } from "./requests.ts";
import type { OrderAnswer } from "./results.ts";

/**
 * The order to register names. `mayTake` says whether the caller may take the name of `own`, a domain of the same
 * account that failed or has lost its name.
 */
export const registrationOrder = (registrar: Registrar, mayTake: (own: StoredDomain) => boolean): OrderKind => ({
  type: "registration",
  quotes: (names, patience) => registrationQuotes(registrar, names, patience),
  takesOwn: (own) => (own.status === "failed" || isDetached(own)) && mayTake(own),
  prepare: async (wanted) => wanted,
  plan: async (table, place, wanted) => {
    const { accountId } = place;
    const [claim, ownDomains] = await Promise.all([
      planClaims(table, accountId, wanted),
      Promise.all(wanted.map(({ name }) => domainOfNewName(table, accountId, name))),
    ]);
    const lost = ownDomains.find((own) => own && isDetached(own));
    const [first] = wanted;
    if (!lost || !first) return planNew(table, place, wanted, claim);
    // The order also moves the domain that has lost its name to the workspace of the order. A transaction can change
    // the list of a workspace only once, so each name needs a transaction of its own.
    if (wanted.length > 1) throw new OneByOne();
    if (!mayTake(lost)) throw new NameTaken(first.name, "domain_exists");
    return planRegained(table, place, first, lost, claim);
  },
  describe: (name) => `Registration of ${name} for a year`,
});

type Planned = ReturnType<OrderKind["plan"]>;
type Claim = (domain: StoredDomain) => Write[];

/** The members that a domain gets when its registration begins. */
const registrationMembers = ({ batchId, now }: BatchPlace, { name, price }: Wanted) =>
  ({
    source: "purchased",
    status: "pending_registration",
    auto_renew: true,
    due_at: now.toISOString(),
    registration: unregistered("pending"),
    purchase: { batch_id: batchId, price, hold_id: holdIdOf(batchId, name), stage: "held" },
  }) satisfies Partial<StoredDomain>;

/** Plans new domains of names that are bought. */
async function planNew(table: Reader, place: BatchPlace, wanted: readonly Wanted[], claim: Claim): Planned {
  const given = wanted.map((one) => ({ name: one.name, ...registrationMembers(place, one) }));
  const refusals = { taken: nameTakenAs("domain_taken"), exists: nameTakenAs("domain_exists"), claim };
  const { domains, writes } = await planNewDomains(table, place, given, refusals);
  const changes = domains.map((domain) => change(domainKind, "created", domain.id, { after: domainView(domain) }));
  return { domains, writes, changes };
}

/** Plans that a domain which has lost its name gets the name back. The domain keeps the contents that it still has. */
async function planRegained(
  table: Reader,
  place: BatchPlace,
  wanted: Wanted,
  domain: StoredDomain,
  claim: Claim,
): Planned {
  const { deletes_at } = domain;
  // `due_at` becomes `deletes_at` once the zone is removed from the nameservers. Until then the name is refused.
  if (deletes_at === null || domain.due_at !== deletes_at) throw new NameTaken(wanted.name, "domain_not_ready");
  const { place: position, writes: moved } = await planMove(table, domain, place.workspaceId);
  const begun = registrationMembers(place, wanted);
  const { after, writes } = domainUpdate(domain, {
    ...position,
    ...begun,
    purchase: { ...begun.purchase, kept_until: deletes_at, kept_registration: domain.registration },
    ...regainedMembers(domain),
    // The registrar delegates a registered name to us. The former DNS of the domain does not matter.
    dns_mode: "hosted",
    updated_at: place.now.toISOString(),
  });
  return {
    domains: [after],
    writes: [...writes, ...moved, ...claim(after)],
    changes: [await domainChange(table, "updated", domain, after)],
  };
}

const readPurchase = (answer: OrderAnswer): PurchaseAnswer => PurchaseAnswer.parse(answer);

/**
 * Buys names, as `placeOrder` does: holds their prices and starts their registrations. With `dry_run`, returns the
 * answer of `previewOrder`.
 */
export function purchaseDomains(
  accountId: string,
  { domains: names, dry_run, ...request }: PurchaseRequest,
  context: Context,
  { registrar, checkouts }: { registrar: Registrar; checkouts: () => Checkouts },
): Promise<PurchaseAnswer> {
  const batchId = orderIdOf(accountId, "purchase", context);
  const mayTake = (own: StoredDomain) => mayReuse(context.permissions, own, request.workspace_id);
  const order = { kind: registrationOrder(registrar, mayTake), accountId, batchId, names, request };
  return dry_run ? previewOrder(order, readPurchase, context) : placeOrder(order, readPurchase, context, checkouts);
}
