import { hash } from "node:crypto";

import * as z from "zod";

import { clientNetwork } from "../../core/ip.ts";
import { dayMs, Timestamp } from "../../core/time.ts";
import { newBucket, remaining } from "../../rate-limits/bucket.ts";
import { limitClasses } from "../../rate-limits/classes.ts";
import { charge, type LimiterContext, rateKey } from "../../rate-limits/limiter.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import { readAddress } from "../mailboxes/local-part.ts";

/*
 * Wrong guesses must not keep the owner of a mailbox out. So a login is charged to its network, and to its network and
 * address together. The login is charged to the address alone too, but only if nobody has logged in with the address
 * from this network in the last 30 days. Logins by a master password do not count for this.
 *
 * Access patterns
 *   the last login with an address from a network   LOGIN#<hash of the address> / SOURCE#<hash of the network>
 */
export const sourceKey = ({ address, network }: LoginSource): Key => ({
  PK: `LOGIN#${address}`,
  SK: `SOURCE#${network}`,
});

/**
 * The hashes of the user name and of the network of a login. The table gets only hashes, because anybody can try any
 * text as the user name, also somebody else's address. `isNamed` is false if the network could not be found out from
 * the client's IP address.
 */
export type LoginSource = { address: string; network: string; isNamed: boolean };

const hashOf = (text: string): string => hash("sha256", text).slice(0, 32);

/** Normalizes the spelling of a user name that is an address. */
function canonicalUser(user: string): string {
  const address = readAddress(user);
  return address ? `${address.local}@${address.domain}` : user;
}

/** The source of a login, from the user name in any spelling, and from the client's IP address. */
export function loginSource(user: string, ip: string): LoginSource {
  const network = clientNetwork(ip);
  return { address: hashOf(canonicalUser(user)), network: hashOf(network), isNamed: network !== "unknown" };
}

/**
 * Charges a login to its network, and to its network and address together. Throws 429 if a limit has no room. The
 * network is charged first, so that a network beyond its limit uses up no other limit.
 */
export async function chargeSource({ address, network }: LoginSource, limiter: LimiterContext): Promise<void> {
  await charge({ principalId: `login-from/${network}`, class: "login_source", cost: 1 }, limiter);
  await charge({ principalId: `login/${address}/${network}`, class: "login_pair", cost: 1 }, limiter);
}

/** How long a network is known for an address after a login, in milliseconds. */
const knownMs = 30 * dayMs;

const StoredSource = z.object({ at: Timestamp });

/**
 * When somebody last logged in with the address from the network, accurate to a day; undefined if nobody did within 30
 * days.
 */
export async function lastLoginFrom(table: Reader, source: LoginSource, now: Date): Promise<Date | undefined> {
  const found = await table.get(sourceKey(source), StoredSource);
  const at = found && new Date(found.at);
  return at && isKnown(at, now) ? at : undefined;
}

const isKnown = (last: Date, now: Date): boolean => now.getTime() - last.getTime() < knownMs;

const addressBucket = ({ address }: LoginSource): string => `login/${address}`;

/**
 * Charges a login to its address. Call this function only for a login from a network that is not known for the address.
 * Throws 429 if the limit has no room.
 */
export async function chargeAddress(source: LoginSource, limiter: LimiterContext): Promise<void> {
  await charge({ principalId: addressBucket(source), class: "login_address", cost: 1 }, limiter);
}

/**
 * Stores that somebody has logged in with the address from the network, at most once a day. `last` is the time that is
 * stored at present. A failure is only logged, because the login does not depend on the stored time.
 */
export async function noteLogin(
  source: LoginSource,
  last: Date | undefined,
  { table, log, now }: LimiterContext,
): Promise<void> {
  const at = now();
  if (!source.isNamed || (last && at.getTime() - last.getTime() < dayMs)) return;
  const ttl = Math.ceil((at.getTime() + knownMs) / 1_000);
  const put = { ...sourceKey(source), at: at.toISOString(), ttl };
  await table.attempt({ put }).catch((error: unknown) => log.error("login not noted", { error: String(error) }));
}

/** The times of the last logins with an address within 30 days, one time for each network. */
export async function lastLogins(table: Reader, user: string, now: Date): Promise<string[]> {
  const { PK } = sourceKey(loginSource(user, ""));
  const rows = await table.between(PK, "SOURCE#", "SOURCE#~");
  return rows.map((row) => StoredSource.parse(row).at).filter((at) => isKnown(new Date(at), now));
}

/**
 * How many attempts with an address are left for networks from which nobody has logged in with the address in the last
 * 30 days.
 */
export async function attemptsLeft(table: Reader, user: string, now: Date): Promise<number> {
  const limit = limitClasses.login_address;
  const name = `${addressBucket(loginSource(user, ""))}#login_address`;
  const stored = await table.get(rateKey(name), z.object({ tat: z.number() }));
  return remaining({ ...newBucket(), tat: stored?.tat ?? 0 }, limit, now.getTime());
}
