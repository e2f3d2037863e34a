import { change } from "../changes/kind.ts";
import { invalidAt, Problem } from "../core/errors.ts";
import { idWithOrdinal } from "../core/ids.ts";
import { dayOf } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import { dueWrite } from "../table/due.ts";
import { appendRows, readList, aheadOfList } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { dedicatedIpFirstDays } from "../wallet/catalogue.ts";
import { profileKey } from "../wallet/profile.ts";
import { purchaseHold } from "../wallet/purchase.ts";
import { firstDaysPrice, lacksPlanFrom, stateKey } from "../wallet/state.ts";
import { readVatRule } from "../wallet/vat.ts";
import { planWallet, aheadOfWallet, type Posting } from "../wallet/wallet.ts";
import { type DedicatedIp, type StoredIp, accountLimit, ipKind, ipQueue, ipsOf } from "./dedicated-ip.ts";
import { isStock, readHolder, type StockHolder } from "./holder.ts";
import { billingOf, aheadOfState } from "./options.ts";
import { anyFree, optionKey, StoredOption, takeWrites, freeRange, maxCandidates } from "./stock.ts";
import { ipView } from "./view.ts";

export type Claim = { accountId: string; optionId: string; name: string | undefined };

/** The items that `reserveIp` reads first. */
export function aheadOfClaim(accountId: string, optionId: string): Ahead {
  const others = [
    optionKey(optionId),
    profileKey(accountId),
    ...aheadOfState(accountId),
    ...aheadOfWallet(accountId, ["revenue"]),
  ];
  return {
    ...aheadOfList(ipsOf(accountId), [], others),
    ranges: [{ ...freeRange(optionId), limit: maxCandidates }],
  };
}

type PlannedClaim = {
  ip: StoredIp;
  hold: Extract<Posting, { kind: "hold" }>;
  /** The writes of the transaction, without those of the wallet. */
  writes: Write[];
};

/** Plans a claim, without the change of the wallet. Throws the errors of `reserveIp`, except `insufficient_funds`. */
export async function planClaim({ accountId, optionId, name }: Claim, table: Reader, at: Date): Promise<PlannedClaim> {
  await requireOption(table, optionId);
  const { price, currency, unchanged } = await priceFor(table, accountId, at);
  const { state } = await readList(table, ipsOf(accountId));
  if (state.live >= accountLimit) throw ipLimitReached();
  const address = await freeAddress(table, optionId);
  const ip = newManaged({ accountId, id: idWithOrdinal(state.next), name, price, at: at.toISOString() }, address);
  const { id, hold_id = "" } = ip;
  const description = `Dedicated IP ${address.ip}, the first ${dedicatedIpFirstDays} days`;
  const bought = { id: hold_id, price, currency, code: "dedicated_ip", description };
  return {
    ip,
    hold: purchaseHold(bought, await readVatRule(table, accountId, at)),
    writes: [
      unchanged,
      ...appendRows(state, [ip]),
      ...takeWrites(address, ip),
      dueWrite(ipQueue, [accountId, id], at.toISOString()),
    ],
  };
}

/**
 * Takes a free address of the stock, and in the same transaction holds the price of its first days. The worker captures
 * the price when the address is ready. Throws:
 * - 409 `out_of_stock` if the option has no free address;
 * - 409 `insufficient_funds` if the wallet does not cover the price;
 * - 409 `plan_cancelled` if the account has no plan, or its plan ends;
 * - 409 `limit_reached` if the account has 100 dedicated IPs already;
 * - 422 if there is no such option;
 * - 503 `busy` if other claims are always faster.
 */
export function reserveIp(claim: Claim, { table, commit, now }: Context): Promise<DedicatedIp> {
  return commit(async () => {
    const at = now();
    const { ip, hold, writes } = await planClaim(claim, table, at);
    const wallet = await planWallet(table, claim.accountId, [hold], at);
    return {
      value: ipView(ip),
      writes: [...writes, ...wallet.writes],
      changes: [change(ipKind, "created", ip.id, { after: ipView(ip) }), ...wallet.changes],
    };
  });
}

/** The 409 for an account that cannot have another dedicated IP. */
export const ipLimitReached = (): Problem =>
  new Problem("limit_reached", `An account can have ${accountLimit} dedicated IPs at most.`);

async function requireOption(table: Reader, optionId: string): Promise<void> {
  if (await table.get(optionKey(optionId), StoredOption)) return;
  throw invalidAt(
    ["body", "option_id"],
    "There is no such option. List the options with dedicated_ips.available_options",
    "not_found",
  );
}

/** The price of the first days, and the write that makes a transaction fail if the account's plan has changed. */
async function priceFor(
  table: Reader,
  accountId: string,
  at: Date,
): Promise<{ price: number; currency: string; unchanged: Write }> {
  const { state, currency } = await billingOf(table, accountId);
  const today = dayOf(at);
  // A managed dedicated IP is charged by the plan, so an account without a plan cannot claim one. For the same reason,
  // `cancelPlan` refuses to cancel the plan of an account that has one.
  if (lacksPlanFrom(state, today))
    throw new Problem("plan_cancelled", "The account has no plan, or its plan ends. Change to a plan first.");
  const { version } = state;
  return {
    price: firstDaysPrice(state, today, currency),
    currency,
    unchanged: { check: stateKey(accountId), if: version === 0 ? "absent" : { version } },
  };
}

const maxTries = 20;

/** Finds a free address of an option. Throws 409 `out_of_stock`, and 503 `busy` if other claims are always faster. */
async function freeAddress(table: Reader, optionId: string): Promise<StockHolder> {
  for (let tries = 0; tries < maxTries; tries++) {
    const ip = await anyFree(table, optionId);
    if (ip === undefined) throw new Problem("out_of_stock", "No address of this option is left.");
    const holder = await readHolder(table, ip);
    if (holder && isStock(holder) && holder.state === "free") return holder;
  }
  throw new Problem("busy", "Too many claims of this option at once. Try again.", { retry_after: 1 });
}

type NewIp = { accountId: string; id: string; name: string | undefined; price: number; at: string };

/** A new managed dedicated IP, not checked yet. */
function newManaged({ accountId, id, name, price, at }: NewIp, stock: StockHolder): StoredIp {
  return {
    id,
    account_id: accountId,
    name: name ?? stock.rdns,
    type: "managed",
    status: "provisioning",
    status_reason: null,
    asn: stock.asn,
    country_code: stock.country_code,
    addresses: [
      {
        ip: stock.ip,
        rdns: null,
        fcrdns_confirmed: false,
        healthy: false,
        message: "The reverse DNS of the address will be checked soon.",
      },
    ],
    domain_count: 0,
    option_id: stock.option_id,
    rdns: stock.rdns,
    relay: stock.relay,
    hold_id: `dedicated-ip/${id}`,
    first_days_price: price,
    created_at: at,
    updated_at: at,
    due_at: at,
    failures: 0,
    version: 1,
  };
}
