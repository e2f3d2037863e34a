import { hash } from "node:crypto";

import * as z from "zod";

import { remember } from "../core/memory.ts";
import type { Principal } from "./principal.ts";

type Verify = (token: string) => Promise<Principal>;

const Expiry = z.object({ exp: z.number() });

/** When a verified JWT expires, in milliseconds since 1970. */
const expiryOf = (token: string): number =>
  Expiry.parse(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())).exp * 1_000;

const keptMs = 300_000;

/**
 * Verifies a token once, and recognizes it afterwards by its SHA-256: until it expires, and for five minutes at most. A
 * signature takes longer to check than everything else that a request computes. A refused token is not remembered. If the
 * issuer removes its key, remembered tokens are accepted for that much longer.
 */
export function rememberTokens(verify: Verify): Verify {
  const known = new Map<string, { principal: Principal; untilMs: number }>();
  return async (token) => {
    const digest = hash("sha256", token);
    const found = known.get(digest);
    if (found && Date.now() < found.untilMs) return found.principal;
    const principal = await verify(token);
    remember(known, digest, { principal, untilMs: Math.min(expiryOf(token), Date.now() + keptMs) });
    return principal;
  };
}
