import * as z from "zod";

import { accountKey, StoredStatus } from "../../accounts/account.ts";
import { withDue } from "../../billing/book.ts";
import { DryRun, Preview, previewCosts } from "../../billing/preview.ts";
import type { ChangePlan } from "../../changes/recorder.ts";
import { notFound, Problem } from "../../core/errors.ts";
import { timeOrderedId } from "../../core/ids.ts";
import { minorUnits, money, moneyUpTo } from "../../core/money.ts";
import { yearsAfter } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import { mostYears, registrarCurrency, type Fees, type Registrar } from "../../providers/registrar/registrar.ts";
import type { Reader } from "../../table/table.ts";
import { purchaseHold } from "../../wallet/purchase.ts";
import { readVatRule, withVat } from "../../wallet/vat.ts";
import { isOverdrawn, planWallet, requireCurrency } from "../../wallet/wallet.ts";
import { isRenewing, notReady, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import type { Renewal } from "../registration-state.ts";
import { domainDetail, DomainDetail } from "../setup/detail.ts";
import { domainUpdate, systemWriter, type DomainWork } from "../setup/work.ts";
import { domainChange } from "../view.ts";

/** The largest `max_total`, in minor units. */
const largestTotal = 5_000_000;

export const Renew = z
  .strictObject({
    years: z.int().min(1).max(9).meta({ description: "How many years to add, 1 to 9." }),
    max_total: moneyUpTo(largestTotal)
      .optional()
      .meta({
        description: "The highest total price without VAT to accept. If the renewal costs more, nothing is renewed.",
        examples: ["40.00"],
      }),
    dry_run: DryRun,
  })
  .meta({ id: "DomainRenew", description: "For how many years to renew a domain." });
type Renew = z.output<typeof Renew>;

export const RenewAnswer = DomainDetail.extend({ preview: Preview }).meta({
  id: "DomainRenewResponse",
  description: "The domain with its renewal.",
});
type RenewAnswer = z.output<typeof RenewAnswer>;

/** The years and the price of a renewal, and the end of the registration before the renewal. */
type Quote = Pick<Renewal, "years" | "price" | "restore_fee" | "from">;

const totalOf = ({ price, restore_fee }: Pick<Quote, "price" | "restore_fee">): number => price + restore_fee;

/**
 * Begins to renew a registration: holds the price, and makes the renewal due. With `dry_run`, only returns the costs.
 * Throws:
 * - 404 if the domain was deleted meanwhile;
 * - 409 `not_registered_here`, `domain_not_ready` or `renewal_running` if the domain cannot be renewed now;
 * - 409 `too_many_years` if the registration would end later than registries allow;
 * - 409 `other_currency` if the account does not pay in the registrar's currency;
 * - 409 `quote_changed` if the renewal costs more than `max_total`;
 * - 409 `insufficient_funds` if the wallet does not cover the renewal;
 * - 503 if the registrar does not answer, the registry gives no price, or another renewal ended meanwhile.
 */
export async function renewDomain(
  found: StoredDomain,
  { years, max_total, dry_run }: Renew,
  context: Context,
  registrar: Registrar,
): Promise<RenewAnswer> {
  const { table, commit, now } = context;
  requireRenewable(found);
  const [quote] = await Promise.all([
    quoteFor(found, years, registrar, now()),
    requireCurrency(table, found.account_id, registrarCurrency),
  ]);
  const agreed = max_total === undefined ? undefined : minorUnits(max_total);
  if (agreed !== undefined && totalOf(quote) > agreed) throw tooMuch(quote);
  if (dry_run) {
    const held = withVat(totalOf(quote), await readVatRule(table, found.account_id, now()));
    const [domain, preview] = await Promise.all([
      domainDetail(found, context),
      previewCosts(found.account_id, { held }, context),
    ]);
    return commit(async () => ({ value: { ...domain, preview }, writes: [], changes: [] }));
  }
  return commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (!domain) throw notFound();
    requireRenewable(domain);
    // If the ids differ, another renewal has begun and ended since `found` was read. Then the quote may be for the
    // former end of the registration.
    if (domain.renewal?.id !== found.renewal?.id) {
      throw new Problem("busy", `Another renewal of ${domain.name} has ended meanwhile. Try again.`, {
        retry_after: 1,
      });
    }
    const { value, ...planned } = await planRenewal(table, domain, newRenewal(domain, quote, "request", now()), now());
    return { value: await domainDetail(value, context), ...planned };
  });
}

function requireRenewable(domain: StoredDomain): void {
  const { name, status, registration } = domain;
  if (!registration) {
    throw new Problem("not_registered_here", `${name} was not purchased here, so it cannot be renewed here.`);
  }
  if (["pending_registration", "pending_transfer", "failed", "releasing"].includes(status)) {
    throw notReady(status, `${name} is ${status}. It cannot be renewed.`);
  }
  if (isRenewing(domain)) throw new Problem("renewal_running", `${name} is being renewed already.`);
}

/** Asks the registrar for the price. A name in redemption also pays for its restoration. */
async function quoteFor(
  { name, status }: StoredDomain,
  years: number,
  registrar: Registrar,
  now: Date,
): Promise<Quote> {
  const [registration, fees] = await Promise.all([registrar.registration(name), registrar.fees(name)]);
  if (!registration) throw notReady(status, `${name} is not registered any more. It cannot be renewed.`);
  if (!fees) throw new Problem("upstream_unavailable", "The registry gives no price at present.", { retry_after: 60 });
  const { expiresAt, phase } = registration;
  requireYears(new Date(expiresAt), years, now);
  const quote = quoteOf(fees, years, expiresAt);
  if (phase !== "redemption") return quote;
  if (fees.restore === undefined) {
    throw notReady(status, `${name} is in redemption. Write to us: its registrar restores names by hand.`);
  }
  return { ...quote, restore_fee: fees.restore };
}

const quoteOf = ({ renewal }: Fees, years: number, expiresAt: string): Quote => ({
  years,
  price: years * renewal,
  restore_fee: 0,
  from: new Date(expiresAt).toISOString(),
});

/** Throws 409 `too_many_years` if the registration would end later than registries allow. */
function requireYears(end: Date, years: number, now: Date): void {
  const isAllowed = (added: number): boolean => yearsAfter(end, added) <= yearsAfter(now, mostYears);
  if (isAllowed(years)) return;
  const fewerYears = Array.from({ length: years }, (_, added) => added);
  const max_years = fewerYears.findLast(isAllowed) ?? 0;
  throw new Problem("too_many_years", `A name is registered for at most ${mostYears} years in all.`, { max_years });
}

const tooMuch = (quote: Quote): Problem =>
  new Problem(
    "quote_changed",
    `The renewal costs ${money(totalOf(quote))} ${registrarCurrency}, which is more than agreed.`,
    {
      estimated_total: money(totalOf(quote)),
      price: money(quote.price),
      restore_fee: money(quote.restore_fee),
      currency: registrarCurrency,
    },
  );

function newRenewal({ id: domainId }: StoredDomain, quote: Quote, by: Renewal["by"], now: Date): Renewal {
  const id = timeOrderedId(now);
  return {
    ...quote,
    id,
    hold_id: `renewal/${domainId}/${id}`,
    stage: "held",
    by,
    started_at: now.toISOString(),
    reason: null,
    looks: 0,
  };
}

/** Plans to hold the price of a renewal, and to make the renewal due. Throws 409 `insufficient_funds`. */
async function planRenewal(
  table: Reader,
  domain: StoredDomain,
  renewal: Renewal,
  now: Date,
): Promise<ChangePlan<StoredDomain>> {
  const wallet = await holdFor(table, domain, renewal, now);
  const at = now.toISOString();
  const { after, writes } = domainUpdate(domain, { renewal, due_at: at, updated_at: at });
  return {
    value: after,
    writes: [...writes, ...wallet.writes],
    changes: [await domainChange(table, "updated", domain, after), ...wallet.changes],
  };
}

async function holdFor(table: Reader, { account_id, name }: StoredDomain, renewal: Renewal, now: Date) {
  const { hold_id, years, restore_fee } = renewal;
  const rule = await readVatRule(table, account_id, now);
  const price = totalOf(renewal);
  const span = years === 1 ? "a year" : `${years} years`;
  const description = `Renewal of ${name} for ${span}${restore_fee > 0 ? ", with its restoration" : ""}`;
  try {
    const hold = purchaseHold({ id: hold_id, price, currency: registrarCurrency, code: "domain", description }, rule);
    return await planWallet(table, account_id, [hold], now);
  } catch (error) {
    if (!isOverdrawn(error)) throw error;
    const { extras } = await withDue(error, table, account_id, now);
    const charge = withVat(price, rule);
    const note = charge > price ? " with VAT" : "";
    const lack = `${String(extras["missing"])} ${registrarCurrency}`;
    const detail = `The renewal costs ${money(charge)} ${registrarCurrency}${note}. The wallet lacks ${lack}.`;
    throw new Problem("insufficient_funds", detail, extras);
  }
}

const isOtherCurrency = (error: unknown): error is Problem =>
  error instanceof Problem && error.code === "other_currency";

/**
 * Begins the automatic renewal of a domain for a year. Does nothing for a closed account, because the money of a closed
 * account must not be spent. Stores a failed renewal, with an event:
 * - if the wallet does not cover the price;
 * - if the account does not pay in the registrar's currency;
 * - if the registry gives no price.
 *
 * Returns the new state of the domain, or undefined if another process has changed the domain. Throws 503 if the
 * registrar does not answer.
 */
export async function renewAutomatically(domain: StoredDomain, work: DomainWork): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemWriter(work, domain.account_id);
  const account = await table.get(accountKey(domain.account_id), StoredStatus);
  if (account?.status === "closed") return domain;
  const fees = await work.registrar.fees(domain.name);
  const quote = quoteOf(fees ?? { renewal: 0 }, 1, domain.registration?.expires_at ?? "");
  return commit(async (): Promise<ChangePlan<StoredDomain | undefined>> => {
    const current = await domainById(table, domain.account_id, domain.id);
    if (current?.version !== domain.version) return { value: undefined, writes: [], changes: [] };
    const renewal = newRenewal(current, quote, "auto", now());
    if (!fees) return planFailed(table, current, renewal, "The registry gives no price for the renewal.");
    try {
      return await planRenewal(table, current, renewal, now());
    } catch (error) {
      if (!isOverdrawn(error) && !isOtherCurrency(error)) throw error;
      return planFailed(table, current, renewal, error.message);
    }
  });
}

/** Plans to store an automatic renewal as failed before it began. No money is held. */
async function planFailed(
  table: Reader,
  domain: StoredDomain,
  renewal: Renewal,
  reason: string,
): Promise<ChangePlan<StoredDomain>> {
  const failed: Renewal = { ...renewal, stage: "voided", reason };
  const { after, writes } = domainUpdate(domain, { renewal: failed, updated_at: renewal.started_at });
  return { value: after, writes, changes: [await domainChange(table, "renewal_failed", domain, after)] };
}
