import { mapConcurrently } from "../../core/concurrency.ts";
import type { Log } from "../../core/log.ts";
import type { Offer, Registrar } from "../../providers/registrar/registrar.ts";
import { registrable } from "../registrable.ts";

/** The reasons why a name cannot be bought here; `unchecked` means that there was no time or no answer. */
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

/** The price of a name in minor units, or the reason why it cannot be bought. */
export type Quote = { name: string; price?: number; renewalPrice?: number; reason?: RefusalReason };

const reasons: Record<Exclude<Offer["status"], "available">, RefusalReason> = {
  premium: "domain_premium",
  unavailable: "domain_unavailable",
  reserved: "domain_reserved",
  unsupported_tld: "unsupported_tld",
  invalid: "domain_invalid",
  unknown: "unchecked",
};

function quoteOf({ name, status, price, renewalPrice }: Offer): Quote {
  const prices = {
    ...(price === undefined ? {} : { price }),
    ...(renewalPrice === undefined ? {} : { renewalPrice }),
  };
  if (status !== "available") return { name, ...prices, reason: reasons[status] };
  return price === undefined ? { name, reason: "unchecked" } : { name, ...prices };
}

type Patience = { budgetMs: number; log: Log };

/** The top-level domains that the registrar sells; undefined when it does not answer in time. */
export async function tldsOf(
  registrar: Registrar,
  { budgetMs, log }: Patience,
): Promise<readonly string[] | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((settle) => (timer = setTimeout(() => settle(undefined), budgetMs)));
  try {
    return await Promise.race([registrar.tlds(), late]);
  } catch (error) {
    log.error("no list of what is sold", { reason: String(error) });
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

const concurrency = 20;

/**
 * Asks the registrar for quotes, 20 at a time, and returns them in the order of the names. A name without an answer in
 * time is `unchecked`.
 */
export async function quotesFor(
  registrar: Registrar,
  names: readonly string[],
  { budgetMs, log }: Patience,
): Promise<Quote[]> {
  const over = new AbortController();
  // The timer does not keep the process alive: while a caller waits, its open request to the registrar does.
  const timer = setTimeout(() => over.abort(), budgetMs).unref();
  const late = new Promise<"late">((settle) => over.signal.addEventListener("abort", () => settle("late")));
  const ask = async (name: string): Promise<Quote> => {
    if (registrable(name)?.domain !== name) return { name, reason: "not_registrable" };
    if (over.signal.aborted) return { name, reason: "unchecked" };
    try {
      const offer = await Promise.race([registrar.offer(name), late]);
      return offer === "late" ? { name, reason: "unchecked" } : quoteOf(offer);
    } catch (error) {
      log.error("no offer for a name", { name, reason: String(error) });
      return { name, reason: "unchecked" };
    }
  };
  const asked = await mapConcurrently(names, concurrency, ask);
  clearTimeout(timer);
  return asked.map((one, index) =>
    one.status === "fulfilled" ? one.value : { name: names[index] ?? "", reason: "unchecked" },
  );
}
