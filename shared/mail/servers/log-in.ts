import * as z from "zod";

import type { Log } from "../../core/log.ts";
import { sendsMail, type StoredDomain } from "../../domains/domain.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Table } from "../../table/table.ts";
import { credentials, masterKey, StoredMaster } from "../credentials/credential.ts";
import { readAddress } from "../mailboxes/local-part.ts";
import { isKeyed, isKeyedPassword, isPassword, loginKey, nobodysHash, passwordTag } from "../mailboxes/password.ts";
import { scopedKey, scopesAround } from "../scoped/family.ts";
import { findRecipient, type Recipient } from "./find-account.ts";

export type Protocol = "smtp" | "imap";
export type Attempt = { user: string; password: string; protocol: Protocol };

/** The result of a login: the mailbox's address, its account and its domain. */
export type LoggedIn = { address: string; accountId: string; domain: StoredDomain };

export type LoginWork = { table: Table; secrets: Secrets; now: () => Date; log: Log };

type Hash = { hash: string; credentialId?: string };

const Masters = z.array(StoredMaster);

/** The master passwords that apply to a domain's mailboxes. They only send, so none are read for IMAP. */
async function mastersOf(table: Table, accountId: string, domain: StoredDomain | undefined, protocol: Protocol) {
  if (protocol === "imap") return [];
  const found = await Promise.all(
    scopesAround(accountId, domain).map((scope) => {
      const { PK, SK } = masterKey(accountId, scope);
      return table.between(PK, SK, `${SK}~`);
    }),
  );
  return Masters.parse(found.flat());
}

/** Whether the mailbox may be used by this protocol now. */
function isServed({ account, domain, isProved, address, mailbox }: Recipient, protocol: Protocol): boolean {
  // A catch-all receives mail, but is no user name.
  if (mailbox?.status !== "active" || !domain || address?.kind === "catch_all") return false;
  if (account?.status !== "active" && account?.status !== "past_due") return false;
  // Mail stores keep mail by its address alone, so an account that never proved the name must not read it.
  return protocol === "imap" ? isProved || domain.verified_at !== null : isProved && sendsMail(domain);
}

/** The only hash to check: the hash of the mailbox or of a master password; undefined when no tag matches. */
function hashFor(found: Recipient, tag: string, masters: z.output<typeof Masters>): Hash | undefined {
  if (found.mailbox?.login.tag === tag) return { hash: found.mailbox.login.hash };
  const master = masters.find((one) => one.tag === tag);
  return master && { hash: master.hash, credentialId: master.credential_id };
}

/**
 * Whether the password matches the hash and the mailbox may be used. A refusal computes exactly one Argon2id hash in
 * every case, so that its time tells neither whether an address exists nor how its password is kept. A successful login
 * with a keyed hash computes none: its sender knows the password already.
 */
async function isRight(password: string, hash: string, key: Buffer, mayUse: boolean): Promise<boolean> {
  if (!isKeyed(hash)) return (await isPassword(password, hash)) && mayUse;
  if (isKeyedPassword(key, password, hash) && mayUse) return true;
  await isPassword(password, nobodysHash);
  return false;
}

const usedEveryMs = 300_000;

/**
 * Stores the time at which a master password was used, to a few minutes. A failure is ignored: the login does not
 * depend on it.
 */
async function noteUse(accountId: string, id: string, { table, now }: LoginWork): Promise<void> {
  const at = now();
  const before = new Date(at.getTime() - usedEveryMs).toISOString();
  const update = { update: scopedKey(credentials, accountId, id), set: { last_used_at: at.toISOString() } };
  const late = { ...update, if: { id, last_used_at: { atMost: before } } };
  const noted = await table.attempt(late).catch(() => undefined);
  if (noted?.done === false && noted.found["last_used_at"] === undefined && noted.found["id"] === id) {
    await table.attempt({ ...update, if: { id } }).catch(() => undefined);
  }
}

/**
 * Logs in to the mailbox of an address: its own address or one of its aliases. Undefined when the login is refused.
 * Throws 503.
 * - The password is the mailbox's or, for sending, a master password for a scope that the mailbox is in.
 * - A refused login takes equally long for any address, also for an unknown one.
 */
export async function logIn({ user, password, protocol }: Attempt, work: LoginWork): Promise<LoggedIn | undefined> {
  const address = readAddress(user);
  const found = await findRecipient(work.table, address ?? { local: "nobody", domain: "nobody.invalid" }, false);
  const isKnown = found.domain !== undefined;
  const [masters, key] = await Promise.all([
    mastersOf(work.table, found.accountId, found.domain, protocol),
    isKnown ? loginKey(found.accountId, work) : Buffer.alloc(32),
  ]);
  const hash = hashFor(found, passwordTag(key, password), masters);
  const isIn = await isRight(password, hash?.hash ?? nobodysHash, key, isServed(found, protocol));
  if (!isIn || !found.mailbox || !found.domain) return undefined;
  if (hash?.credentialId !== undefined) await noteUse(found.accountId, hash.credentialId, work);
  return {
    address: `${found.mailbox.local_part}@${found.domain.name}`,
    accountId: found.accountId,
    domain: found.domain,
  };
}
