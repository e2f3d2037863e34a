import { advanceDomain } from "../../functions/workers/advance-domains.ts";
import { later } from "../../shared/core/time.ts";
import type { StoredDomain } from "../../shared/domains/domain.ts";
import { getName, registeredNameKey } from "../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../shared/providers/registrar/embedded.ts";
import type { Registrar, Registration } from "../../shared/providers/registrar/registrar.ts";
import { advance, domainOf, storedAs, workAt, write } from "./domain-work.ts";
import { domainsRequest, purchase, uniqueName } from "./domains.ts";
import { buyer, registered } from "./purchases.ts";
import type { Answer } from "./request.ts";
import { testTable, type Account } from "./world.ts";

/** Makes a .com name that an account has bought for 14.00. `left` is the rest in its wallet, in minor units. */
export async function ownedName(prefix = "", left = 10_000): Promise<{ account: Account; name: string }> {
  const account = await buyer(1_400 + left);
  const name = `${prefix}${uniqueName()}`;
  await purchase(account, [name]);
  const { status } = await registered(account, name);
  if (status !== "pending_delegation") throw new Error(`${name} is ${status}`);
  // Settles the registration of a slow name at once instead of in half a minute, because tests renew the name now. The
  // id of the operation, `<name>/<begun at>#<random>`, has the time at which the registration began.
  const stored = await getName(testTable(), name);
  if (stored?.holder !== "us") throw new Error(`${name} is not registered`);
  const operation = { ...stored.operation, settles_at: stored.operation.id.split(/[/#]/)[1] };
  await write({ update: registeredNameKey(name), set: { operation } });
  return { account, name };
}

export const renew = (
  account: Account,
  name: string,
  body: Record<string, unknown> = { years: 1 },
  headers: Record<string, string> = {},
): Promise<Answer> => domainsRequest(account, "POST", `/${name}/renew`, body, headers);

/** The registry's registration of a name at a time, by default a day from now. Throws if there is none. */
export async function registrationAt(name: string, at = daysFrom(new Date().toISOString(), 1)): Promise<Registration> {
  const found = await embeddedRegistrar(testTable(), () => at).registration(name);
  if (!found) throw new Error(`${name} is not registered`);
  return found;
}

/** Sets the end of a name's registration in the registry, without the product. */
export const endAt = (name: string, expires_at: string): Promise<void> =>
  write({ update: registeredNameKey(name), set: { expires_at } });

/** Sets the age of a name's registration in the registry, without the product. */
export async function registeredFor(name: string, days: number): Promise<void> {
  const stored = await getName(testTable(), name);
  if (stored?.holder !== "us") throw new Error(`${name} is not registered`);
  const settles_at = daysFrom(stored.operation.settles_at, -days).toISOString();
  await write({ update: registeredNameKey(name), set: { operation: { ...stored.operation, settles_at } } });
}

/**
 * Runs the worker for a domain at the time `at`. Ignores the due time of the domain. `own` replaces functions of the
 * registrar. Returns the new state of the domain.
 */
export async function advanceAt(
  account: Account,
  name: string,
  at: Date,
  own: Partial<Registrar> = {},
): Promise<StoredDomain | undefined> {
  const { id, due_at } = await storedAs(account, name);
  const registrar = { ...embeddedRegistrar(testTable(), () => at), ...own };
  await advanceDomain(account.id, id, due_at ?? "", workAt(at, { registrar }));
  return domainOf(account, id);
}

/** Runs the worker for a renewal at each due time, until the renewal is over. */
export async function renewed(account: Account, name: string, own: Partial<Registrar> = {}): Promise<StoredDomain> {
  for (let times = 0; times < 20; times++) {
    const domain = await storedAs(account, name);
    if (!["held", "asked", "running"].includes(domain.renewal?.stage ?? "")) return domain;
    await lookWith(account, name, own);
  }
  throw new Error(`${name} is still being renewed`);
}

/** Runs the worker for a name at its due time, with some of the registrar's functions replaced. */
export async function lookWith(account: Account, name: string, own: Partial<Registrar> = {}): Promise<void> {
  const { due_at } = await storedAs(account, name);
  const at = new Date(due_at ?? "");
  await advance(account, name, { registrar: { ...embeddedRegistrar(testTable(), () => at), ...own } });
}

/** The time some days after another time. */
export const daysFrom = (from: string | null | undefined, days: number): Date =>
  new Date(later(new Date(from ?? ""), days * 86_400_000));
