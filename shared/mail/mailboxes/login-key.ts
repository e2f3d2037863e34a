import { randomBytes } from "node:crypto";

import * as z from "zod";

import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Table } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";

/*
 * Access patterns
 *   what an account's passwords are tagged with, sealed   ACCOUNT#<id> / LOGIN_KEY
 */
const keyOf = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "LOGIN_KEY" });

const Stored = z.object({ sealed: z.string() });

const keptAccounts = 1_000;
const kept = new Map<string, Promise<Buffer>>();

type Work = { table: Table; secrets: Secrets };

/** The key that an account's passwords are tagged with: made at first, opened once a process. 503. */
export function loginKey(accountId: string, work: Work): Promise<Buffer> {
  const known = kept.get(accountId);
  if (known) return known;
  const opened = openOrMake(accountId, work);
  kept.set(accountId, opened);
  opened.catch(() => kept.delete(accountId));
  const [oldest] = kept.keys();
  if (kept.size > keptAccounts && oldest !== undefined) kept.delete(oldest);
  return opened;
}

async function openOrMake(accountId: string, { table, secrets }: Work): Promise<Buffer> {
  const context = { account_id: accountId, purpose: "login_key" };
  const found = await table.get(keyOf(accountId), Stored);
  if (found) return Buffer.from(await secrets.open(found.sealed, context), "base64");
  const made = randomBytes(32);
  const sealed = await secrets.seal(made.toString("base64"), context);
  const put = await table.attempt({ put: { ...keyOf(accountId), sealed }, if: "absent" });
  if (put.done) return made;
  // Somebody else made one meanwhile.
  const theirs = await table.get(keyOf(accountId), Stored);
  if (!theirs) throw new Error("the login key was there and is gone");
  return Buffer.from(await secrets.open(theirs.sealed, context), "base64");
}
