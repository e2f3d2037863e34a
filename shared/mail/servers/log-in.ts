import * as z from "zod";

import type { Log } from "../../core/log.ts";
import { sendsMail, type StoredDomain } from "../../domains/domain.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Reader, Table } from "../../table/table.ts";
import {
  appPasswordsKey,
  lastUseAttribute,
  lastUseOf,
  type StoredAppPasswords,
} from "../app-passwords/app-password.ts";
import { credentials, masterKey, StoredMaster } from "../credentials/credential.ts";
import { readAddress } from "../mailboxes/local-part.ts";
import type { StoredMailbox } from "../mailboxes/mailbox.ts";
import { isKeyed, isKeyedPassword, isPassword, loginKey, nobodysHash, passwordTag } from "../mailboxes/password.ts";
import { scopedKey, scopesAround } from "../scoped/family.ts";
import { findRecipient, isInUse, type Recipient } from "./find-account.ts";

/** The protocols of logins, by the names that nginx gives them. */
export const protocols = ["smtp", "imap", "pop3"] as const;
export type Protocol = (typeof protocols)[number];
export type Attempt = { user: string; password: string; protocol: Protocol };

/**
 * The result of a login: the mailbox and its address, its account and its domain. `isByMaster` says whether the
 * password is a master password, and not a password of the mailbox.
 */
export type LoggedIn = {
  address: string;
  accountId: string;
  domain: StoredDomain;
  mailbox: StoredMailbox;
  isByMaster: boolean;
};

export type LoginWork = { table: Table; secrets: Secrets; now: () => Date; log: Log };

/**
 * The hash of a password, whether the password is a master password, and the function that stores when the password was
 * used.
 */
type Hash = { hash: string; isByMaster: boolean; noteUse?: () => Promise<unknown> };

type Master = z.output<typeof StoredMaster>;

const Masters = z.array(StoredMaster);

/**
 * The master passwords for a domain's mailboxes. Master passwords are only for sending, so there are none for IMAP and
 * POP3.
 */
export async function mastersOf(
  table: Reader,
  accountId: string,
  domain: StoredDomain | undefined,
  protocol: Protocol,
) {
  if (protocol !== "smtp") return [];
  const found = await Promise.all(
    scopesAround(accountId, domain).map((scope) => {
      const { PK, SK } = masterKey(accountId, scope);
      return table.between(PK, SK, `${SK}~`);
    }),
  );
  return Masters.parse(found.flat());
}

/** Why nobody can log in to a mailbox by a protocol, even with the right password. */
export type LoginObstacle = "no_such_mailbox" | "account_suspended" | "mailbox_paused" | "domain_not_ready";

/** Why nobody can log in to the mailbox by this protocol now; undefined if the right password is accepted. */
export function loginObstacle(
  { account, plan, domain, isProved, address, mailbox }: Recipient,
  protocol: Protocol,
): LoginObstacle | undefined {
  // A catch-all receives mail, but is no user name.
  if (!mailbox || !domain || address?.kind === "catch_all") return "no_such_mailbox";
  if (!isInUse(account, plan)) return "account_suspended";
  if (mailbox.status !== "active") return "mailbox_paused";
  // A mail store may keep mail by the address alone. The store may then have the mail of another account that had this
  // address before. So an account that never proved the name must not read mail.
  const isReady = protocol === "smtp" ? isProved && sendsMail(domain) : isProved || domain.verified_at !== null;
  return isReady ? undefined : "domain_not_ready";
}

/**
 * The only hash to check: the hash of the mailbox's password, of an app password or of a master password. Undefined
 * when no tag matches, or when the password has expired, is inactive or is for other protocols.
 */
function hashFor(
  found: Recipient,
  masters: readonly Master[],
  { tag, protocol }: { tag: string; protocol: Protocol },
  work: LoginWork,
): Hash | undefined {
  const { accountId, mailbox, appPasswords } = found;
  if (mailbox?.login.tag === tag) return { hash: mailbox.login.hash, isByMaster: false };
  const at = work.now().toISOString();
  const byProtocol = protocol === "pop3" ? "pop" : protocol;
  const isOver = (expires_at: string | null): boolean => expires_at !== null && expires_at <= at;
  const app = appPasswords?.items.find(
    (one) => one.tag === tag && one.protocols.includes(byProtocol) && !isOver(one.expires_at),
  );
  if (mailbox && appPasswords && app) {
    const { hash, id } = app;
    const used = { accountId, mailboxId: mailbox.id, id, appPasswords };
    return { hash, isByMaster: false, noteUse: () => noteAppPasswordUse(used, work) };
  }
  // Several master passwords can be the same text, and some of them can be inactive or expired. So the search
  // also compares whether a master password is valid.
  const master = masters.find((one) => one.tag === tag && one.active && !isOver(one.expires_at));
  if (!master) return undefined;
  const { hash, credential_id } = master;
  return { hash, isByMaster: true, noteUse: () => noteMasterUse(accountId, credential_id, work) };
}

/**
 * Whether the password matches the hash, and the mailbox may be used. Every refusal computes exactly one Argon2id hash.
 * So the time of a refusal shows neither whether an address exists, nor how its password is stored. A successful login
 * with a keyed hash computes no Argon2id hash, and takes less time. This tells the client nothing, because the client
 * knows the password already.
 */
async function isRight(password: string, hash: string, key: Buffer, mayUse: boolean): Promise<boolean> {
  if (!isKeyed(hash)) return (await isPassword(password, hash)) && mayUse;
  if (isKeyedPassword(key, password, hash) && mayUse) return true;
  await isPassword(password, nobodysHash);
  return false;
}

/** The time of the last use is stored again only if the stored time is at least this old, in milliseconds. */
const usedEveryMs = 300_000;

/**
 * Stores the time at which a master password was used, at most every five minutes. A failure is ignored: the login does
 * not depend on the stored time.
 */
async function noteMasterUse(accountId: string, id: string, { table, now }: LoginWork): Promise<void> {
  const at = now();
  const before = new Date(at.getTime() - usedEveryMs).toISOString();
  const update = { update: scopedKey(credentials, accountId, id), set: { last_used_at: at.toISOString() } };
  const ifOld = { ...update, if: { id, last_used_at: { atMost: before } } };
  const noted = await table.attempt(ifOld).catch(() => undefined);
  // The condition of `ifOld` also fails for a master password that was never used.
  if (noted?.done === false && noted.found["last_used_at"] === undefined && noted.found["id"] === id) {
    await table.attempt({ ...update, if: { id } }).catch(() => undefined);
  }
}

type UsedAppPassword = { accountId: string; mailboxId: string; id: string; appPasswords: StoredAppPasswords };

/**
 * Stores the time at which an app password was used, at most every five minutes. Stores nothing if the app passwords of
 * the mailbox have changed since they were read. A failure is ignored: the login does not depend on the stored time.
 */
async function noteAppPasswordUse(
  { accountId, mailboxId, id, appPasswords }: UsedAppPassword,
  { table, now }: LoginWork,
): Promise<void> {
  const at = now();
  const last = lastUseOf(appPasswords, id);
  if (last !== null && at.getTime() - Date.parse(last) < usedEveryMs) return;
  const update = {
    update: appPasswordsKey(accountId, mailboxId),
    set: { [lastUseAttribute(id)]: at.toISOString() },
    if: { version: appPasswords.version },
  };
  await table.attempt(update).catch(() => undefined);
}

/**
 * The address that is looked up for a user name. For a user name that is no address, this is an address that nobody
 * has.
 */
export const addressOf = (user: string): { local: string; domain: string } =>
  readAddress(user) ?? { local: "nobody", domain: "nobody.invalid" };

/**
 * Logs in to the mailbox that has the user name as its address or as an alias. Undefined when the login is refused.
 * Throws 503 if the key service does not answer.
 * - The password is the password of the mailbox, or an app password of the mailbox for the protocol. For sending, it
 *   can be a master password for a scope that the mailbox is in.
 * - An app password or a master password that has expired or is inactive is refused as a wrong password is.
 * - A refused login takes equally long for any address of a domain that is here. For another domain, the account's key
 *   is not read.
 */
export async function logIn({ user, password, protocol }: Attempt, work: LoginWork): Promise<LoggedIn | undefined> {
  const found = await findRecipient(work.table, addressOf(user), { withAppPasswords: true });
  const [masters, key] = await Promise.all([
    mastersOf(work.table, found.accountId, found.domain, protocol),
    found.domain ? loginKey(found.accountId, work) : Buffer.alloc(32),
  ]);
  const hash = hashFor(found, masters, { tag: passwordTag(key, password), protocol }, work);
  const isAccepted = await isRight(
    password,
    hash?.hash ?? nobodysHash,
    key,
    loginObstacle(found, protocol) === undefined,
  );
  if (!isAccepted || !hash || !found.mailbox || !found.domain) return undefined;
  await hash.noteUse?.();
  return {
    address: `${found.mailbox.local_part}@${found.domain.name}`,
    accountId: found.accountId,
    domain: found.domain,
    mailbox: found.mailbox,
    isByMaster: hash.isByMaster,
  };
}
