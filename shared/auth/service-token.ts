import { hash, randomBytes, timingSafeEqual } from "node:crypto";

import * as z from "zod";

import { Problem } from "../core/errors.ts";
import type { SeenItems } from "../table/seen-items.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import type { Principal } from "./principal.ts";

/*
 * Access patterns
 *   token by its public id     TOKEN#<public id> / TOKEN    (every request of a service account)
 */
export const tokenKey = (publicId: string): Key => ({ PK: `TOKEN#${publicId}`, SK: "TOKEN" });

const StoredToken = z.object({
  id: z.uuid(),
  account_id: z.uuid(),
  public_id: z.string(),
  secret_hash: z.string(),
  expires_at: z.string().optional(),
  revoked_at: z.string().optional(),
  last_used_at: z.string().optional(),
});
type StoredToken = z.output<typeof StoredToken>;

const isExpired = ({ expires_at }: StoredToken, now: Date): boolean =>
  expires_at !== undefined && expires_at <= now.toISOString();

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const shape = /^sat_([0-9A-Za-z]{16})_([0-9A-Za-z]{40})([0-9A-Za-z]{6})$/;

/**
 * Turns `bytes` into `length` base62 characters. Each character takes 16 bits, so that the modulo bias is negligible.
 */
function base62(bytes: Buffer, length: number): string {
  return Array.from({ length }, (_, index) => alphabet[bytes.readUInt16BE(index * 2) % 62]).join("");
}

/** The CRC32 of a token without its checksum, as six base62 digits. */
function checksum(body: string): string {
  // Loaded here, because requests with a JWT do not need zlib.
  let rest = process.getBuiltinModule("node:zlib").crc32(body);
  let digits = "";
  for (let index = 0; index < 6; index++) {
    digits = alphabet.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Whether a bearer token has the prefix of service account tokens. */
export const isServiceToken = (token: string): boolean => token.startsWith("sat_");

export type MintedToken = { token: string; publicId: string; secretHash: string };

/**
 * Makes a token `sat_<public id>_<secret><CRC32>` from 112 random bytes. For demo data, a fixed `seed` gives the same
 * token each time.
 */
export function mintServiceToken(seed: Buffer = randomBytes(112)): MintedToken {
  const publicId = base62(seed, 16);
  const secret = base62(seed.subarray(32), 40);
  const body = `sat_${publicId}_${secret}`;
  return { token: body + checksum(body), publicId, secretHash: hash("sha256", secret) };
}

/** The write that stores a minted token. It stores the SHA-256 of the token's secret, not the secret. */
export const tokenWrite = (input: {
  id: string;
  accountId: string;
  minted: MintedToken;
  expiresAt?: string | null;
}): Write => ({
  put: {
    ...tokenKey(input.minted.publicId),
    id: input.id,
    account_id: input.accountId,
    public_id: input.minted.publicId,
    secret_hash: input.minted.secretHash,
    expires_at: input.expiresAt ?? undefined,
  },
});

/**
 * Plans the end of the tokens that are live at `now`, which means neither revoked nor expired. Returns the public ids
 * of the live tokens. If `end` has `revoked`, the live tokens are revoked at that time. If `end` has `expires`, they
 * expire at that time, but a token that expires sooner stays as it is.
 */
export async function planTokenEnds(
  table: Reader,
  publicIds: readonly string[],
  end: { revoked: Date } | { expires: string },
  now: Date,
): Promise<{ live: string[]; writes: Write[] }> {
  const items = await table.getMany(publicIds.map(tokenKey));
  const live = items.flatMap((item) => {
    const token = item && StoredToken.parse(item);
    return token && token.revoked_at === undefined && !isExpired(token, now) ? [token] : [];
  });
  const writes = live.flatMap(({ public_id, expires_at }): Write[] => {
    if ("revoked" in end) return [{ update: tokenKey(public_id), set: { revoked_at: end.revoked.toISOString() } }];
    const sooner = expires_at !== undefined && expires_at <= end.expires;
    return sooner ? [] : [{ update: tokenKey(public_id), set: { expires_at: end.expires } }];
  });
  return { live: live.map(({ public_id }) => public_id), writes };
}

/**
 * The last use of each token, accurate to an hour, by the token's public id. Tokens that were never used are left out.
 */
export async function lastUses(table: Reader, publicIds: readonly string[]): Promise<Map<string, string>> {
  const items = await table.getMany(publicIds.map(tokenKey));
  return new Map(
    items.flatMap((item) => {
      const token = item && StoredToken.parse(item);
      return token?.last_used_at === undefined ? [] : [[token.public_id, token.last_used_at] as const];
    }),
  );
}

const noteIntervalMs = 3_600_000;

/** Stores when a token was last used, at most once an hour. A failure of this write does not fail the request. */
async function noteUse(table: Table, { public_id, last_used_at }: StoredToken, now: Date): Promise<void> {
  if (last_used_at !== undefined && now.getTime() - Date.parse(last_used_at) < noteIntervalMs) return;
  const note: Write = { update: tokenKey(public_id), set: { last_used_at: now.toISOString() }, if: "present" };
  await table.attempt(note).catch(() => undefined);
}

/** The public id and the secret of a token; undefined if the form or the checksum is wrong. */
function partsOf(token: string): { publicId: string; secret: string } | undefined {
  const [, publicId = "", secret = "", sum = ""] = shape.exec(token) ?? [];
  return publicId !== "" && checksum(`sat_${publicId}_${secret}`) === sum ? { publicId, secret } : undefined;
}

const isSecretOf = (secret: string, stored: StoredToken): boolean =>
  timingSafeEqual(Buffer.from(hash("sha256", secret)), Buffer.from(stored.secret_hash));

const principalOf = ({ id, account_id, public_id }: StoredToken): Principal => ({
  type: "service_account",
  id,
  account_id,
  email: `${public_id}@service-accounts.invalid`,
  groups: [],
});

/**
 * The service account of a token that this process has accepted before. Undefined for any other token, and for a token
 * that is revoked or expired, as far as this process knows. Use this only to guess which items to read.
 */
export function expectedService(token: string, seen: SeenItems, now: Date): Principal | undefined {
  const parts = partsOf(token);
  const { data: stored } = StoredToken.safeParse(parts && seen.recall(tokenKey(parts.publicId)));
  if (!parts || !stored || stored.revoked_at !== undefined || isExpired(stored, now)) return undefined;
  return isSecretOf(parts.secret, stored) ? principalOf(stored) : undefined;
}

/**
 * Returns the service account of a token. Throws 401 `unauthenticated`, `token_revoked` or `token_expired`. A wrong
 * checksum is refused without reading the table.
 */
export async function servicePrincipal(token: string, table: Table, now: Date): Promise<Principal> {
  const invalid = new Problem("unauthenticated", "This access token is not valid here.");
  const parts = partsOf(token);
  if (!parts) throw invalid;
  const key = tokenKey(parts.publicId);
  const stored = await table.get(key, StoredToken);
  if (!stored || !isSecretOf(parts.secret, stored)) throw invalid;
  if (stored.revoked_at !== undefined) throw new Problem("token_revoked", "This access token was revoked.");
  if (isExpired(stored, now)) throw new Problem("token_expired", "This access token has expired.");
  table.seen?.note({ ...key, ...stored });
  await noteUse(table, stored, now);
  return principalOf(stored);
}
