import { hash } from "node:crypto";

import * as z from "zod";

import type { UserVerifier } from "./user-token.ts";

const Expiry = z.object({ exp: z.number() });

/** When a verified JWT expires, in milliseconds since 1970. */
const expiryOf = (token: string): number =>
  Expiry.parse(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())).exp * 1_000;

const keptTokens = 1_000;
const keptMs = 300_000;

/**
 * Verifies a token once, and recognizes it afterwards by its SHA-256: until it expires, and for five minutes at most. A
 * signature takes longer to check than everything else that a request computes. A refused token is not remembered.
 */
export function rememberTokens(verify: UserVerifier): UserVerifier {
  const known = new Map<string, { principal: Awaited<ReturnType<UserVerifier>>; untilMs: number }>();
  return async (token) => {
    const digest = hash("sha256", token);
    const found = known.get(digest);
    if (found && Date.now() < found.untilMs) return found.principal;
    const principal = await verify(token);
    known.delete(digest);
    const [oldest] = known.keys();
    if (known.size >= keptTokens && oldest !== undefined) known.delete(oldest);
    known.set(digest, { principal, untilMs: Math.min(expiryOf(token), Date.now() + keptMs) });
    return principal;
  };
}
