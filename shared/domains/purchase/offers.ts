import { mapConcurrently } from "../../core/concurrency.ts";
import type { Log } from "../../core/log.ts";
import { mostYears, type Offer, type Registrar, type TransferOffer } from "../../providers/registrar/registrar.ts";
import type { DnsMode } from "../domain.ts";
import { registrableName } from "../registrable.ts";

/** The reasons why a name cannot be bought here, with a sentence for people. */
export const refusalReasons = {
  not_registrable: "Only a name directly under a public suffix, such as example.com, can be registered.",
  unsupported_tld: "Names under this top-level domain are not sold here.",
  domain_unavailable: "This name is taken already.",
  domain_reserved: "The registry has reserved this name.",
  domain_premium: "This is a premium name. Premium names are not sold here.",
  domain_invalid: "The registry does not allow this name.",
  unchecked: "The registry did not answer in time. Try again.",
} as const;
export type RefusalReason = keyof typeof refusalReasons;

const { not_registrable, unsupported_tld, domain_premium, domain_invalid, unchecked } = refusalReasons;

/**
 * The top-level domains whose registries delegate a name only to nameservers that answer for it already. Our
 * nameservers answer for a name only after its delegation, so they cannot get such a name.
 */
const checkingTlds = new Set(["br", "de", "it"]);

/** Whether the registry of a name or a top-level domain delegates only to nameservers that answer already. */
const checksNameservers = (nameOrTld: string): boolean =>
  checkingTlds.has(nameOrTld.slice(nameOrTld.lastIndexOf(".") + 1));

/**
 * The refusal of a name whose registry would not delegate it to our nameservers; undefined for other names. `remedy` is
 * a sentence that says what to do.
 */
const delegationRefusal = (name: string, remedy: string): Quote<"unsupported_tld"> | undefined =>
  checksNameservers(name)
    ? {
        name,
        reason: "unsupported_tld",
        detail: `Its registry delegates a name only to nameservers that answer for it already. ${remedy}`,
      }
    : undefined;

const keepOwnDns = "Register the name elsewhere, and connect it by domains.add with the dns_mode `external`.";
const transferAsExternal = "Transfer the name with the dns_mode `external`.";

/** The reasons why a name cannot be transferred to us at present, with a sentence that says what to do. */
export const transferReasons = {
  not_registrable,
  unsupported_tld,
  domain_premium,
  domain_invalid,
  unchecked,
  not_registered: "Nobody has registered this name. Buy it with domains.purchase.",
  auth_code_wrong: "The auth code is wrong. Get a new one from the name's present registrar.",
  transfer_locked: "The name is locked against transfer. Unlock it at its present registrar, and try again.",
  transfer_too_soon:
    "The name was registered or transferred less than 60 days ago. Transfer it from `transferable_at` on.",
  too_many_years: `A transfer adds a year, and a name is registered for at most ${mostYears} years. Transfer the name once less than ${mostYears - 1} years are left.`,
  transfer_refused: "Our registrar does not accept this name at present. Ask the name's present registrar.",
} as const;
export type TransferReason = keyof typeof transferReasons;

/**
 * The price of a name in minor units, or the reason why the name cannot be bought or transferred. `detail` is a
 * further text about the reason. `transferableAt` belongs to `transfer_too_soon`.
 */
export type Quote<Reason extends string = RefusalReason> = {
  name: string;
  price?: number;
  renewalPrice?: number;
  reason?: Reason;
  detail?: string;
  transferableAt?: string;
};

/** How long to wait for the registrar, in milliseconds, and the log for its failures. */
export type Patience = { budgetMs: number; log: Log };

/**
 * Asks the registrar for the prices of registrations. The quotes are in the order of the names. A name without an
 * answer in time is `unchecked`.
 */
export const registrationQuotes = (
  registrar: Registrar,
  names: readonly string[],
  patience: Patience,
): Promise<Quote[]> =>
  askQuotes(
    names,
    async (name) => delegationRefusal(name, keepOwnDns) ?? registrationQuote(await registrar.offer(name)),
    patience,
  );

/** The reason for each status of an offer of the registrar. */
const reasonByOffer: Record<Exclude<Offer["status"], "available">, RefusalReason> = {
  premium: "domain_premium",
  unavailable: "domain_unavailable",
  reserved: "domain_reserved",
  unsupported_tld: "unsupported_tld",
  invalid: "domain_invalid",
  unknown: "unchecked",
};

function registrationQuote({ name, status, price, renewalPrice }: Offer): Quote {
  const prices = {
    ...(price === undefined ? {} : { price }),
    ...(renewalPrice === undefined ? {} : { renewalPrice }),
  };
  if (status !== "available") return { name, ...prices, reason: reasonByOffer[status] };
  return price === undefined ? { name, reason: "unchecked" } : { name, ...prices };
}

/** The reason for each status of a transfer offer of the registrar. */
const reasonByTransferOffer: Record<
  Exclude<TransferOffer["status"], "transferable">,
  TransferReason | "domain_taken"
> = {
  auth_code_wrong: "auth_code_wrong",
  locked: "transfer_locked",
  too_soon: "transfer_too_soon",
  too_many_years: "too_many_years",
  refused: "transfer_refused",
  premium: "domain_premium",
  not_registered: "not_registered",
  ours: "domain_taken",
  unsupported_tld: "unsupported_tld",
  invalid: "domain_invalid",
  unknown: "unchecked",
};

/**
 * Asks the registrar for the price of a transfer. `dnsMode` is the DNS mode that the request wants. Throws 503 when the
 * registrar does not answer.
 */
export async function transferQuote(
  registrar: Registrar,
  name: string,
  authCode: string,
  dnsMode: DnsMode,
): Promise<Quote<TransferReason | "domain_taken">> {
  const refusal = dnsMode === "hosted" ? delegationRefusal(name, transferAsExternal) : undefined;
  if (refusal) return refusal;
  const { status, price, reason, transferableAt } = await registrar.transferOffer(name, authCode);
  if (status === "transferable") return price === undefined ? { name, reason: "unchecked" } : { name, price };
  return {
    name,
    reason: reasonByTransferOffer[status],
    ...(reason === undefined ? {} : { detail: reason }),
    ...(transferableAt === undefined ? {} : { transferableAt }),
  };
}

const concurrency = 20;

/**
 * Calls `quote` for each name directly under a public suffix, for 20 names at a time. Returns the quotes in the order
 * of the names. A name that is not directly under a public suffix is `not_registrable`. A name is `unchecked` if its
 * call fails, or has no result before `budgetMs` have passed in all.
 */
export async function askQuotes<Reason extends string>(
  names: readonly string[],
  quote: (name: string) => Promise<Quote<Reason>>,
  { budgetMs, log }: Patience,
): Promise<Quote<Reason | RefusalReason>[]> {
  const ended = new AbortController();
  // The timer need not keep the process alive. While a caller waits, the open request to the registrar keeps it alive.
  const timer = setTimeout(() => ended.abort(), budgetMs).unref();
  const late = new Promise<"late">((settle) => ended.signal.addEventListener("abort", () => settle("late")));
  const ask = async (name: string): Promise<Quote<Reason | RefusalReason>> => {
    if (registrableName(name)?.domain !== name) return { name, reason: "not_registrable" };
    if (ended.signal.aborted) return { name, reason: "unchecked" };
    try {
      const quoted = await Promise.race([quote(name), late]);
      return quoted === "late" ? { name, reason: "unchecked" } : quoted;
    } catch (error) {
      log.error("no offer for a name", { name, reason: String(error) });
      return { name, reason: "unchecked" };
    }
  };
  const asked = await mapConcurrently(names, concurrency, ask);
  clearTimeout(timer);
  return asked.map((settled, index) =>
    settled.status === "fulfilled" ? settled.value : { name: names[index] ?? "", reason: "unchecked" },
  );
}

/**
 * The top-level domains under which names can be bought; undefined if the call to the registrar fails, or has no answer
 * within `budgetMs`.
 */
export async function tldsOf(
  registrar: Registrar,
  { budgetMs, log }: Patience,
): Promise<readonly string[] | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((settle) => (timer = setTimeout(() => settle(undefined), budgetMs)));
  try {
    const sold = await Promise.race([registrar.tlds(), late]);
    return sold?.filter((tld) => !checksNameservers(tld));
  } catch (error) {
    log.error("no list of top-level domains", { reason: String(error) });
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
