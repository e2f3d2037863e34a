import { hash } from "node:crypto";

import * as z from "zod";

import { remember } from "../core/memory.ts";
import type { Principal } from "./principal.ts";

type Verify = (token: string) => Promise<Principal>;

const Expiry = z.object({ exp: z.number() });

/** When a verified JWT expires, in milliseconds since 1970. */
const expiryOf = (token: string): number =>
  Expiry.parse(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())).exp * 1_000;

const rememberedMs = 300_000;

/**
 * Verifies a token once, and then recognizes the token by its SHA-256. The check of a signature takes more time than
 * all other computation of a request.
 * - A token is remembered until it expires, and for five minutes at most. Refused tokens are not remembered.
 * - If the issuer removes a key, a remembered token with this key is still accepted for up to five minutes.
 */
export function rememberTokens(verify: Verify): Verify {
  const verified = new Map<string, { principal: Principal; untilMs: number }>();
  return async (token) => {
    const digest = hash("sha256", token);
    const earlier = verified.get(digest);
    if (earlier && Date.now() < earlier.untilMs) return earlier.principal;
    const principal = await verify(token);
    remember(verified, digest, { principal, untilMs: Math.min(expiryOf(token), Date.now() + rememberedMs) });
    return principal;
  };
}
