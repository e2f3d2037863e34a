import { hash } from "node:crypto";

import { FetchError, JwtExpiredError } from "aws-jwt-verify/error";
import { SimpleFetcher } from "aws-jwt-verify/https";
import { SimpleJwksCache, type Jwks, type JwkWithKid } from "aws-jwt-verify/jwk";
import type { DecomposedJwt } from "aws-jwt-verify/jwt";
import type { JwtHeader, JwtPayload } from "aws-jwt-verify/jwt-model";
import { JwtVerifier } from "aws-jwt-verify/jwt-verifier";
import * as z from "zod";

import type { Issuer } from "../core/environment.ts";
import { Problem } from "../core/errors.ts";
import { idOfWords } from "../core/ids.ts";
import { remember } from "../core/memory.ts";
import { placeholderEmail, type Principal } from "./principal.ts";

/** Turns a JWT access token into its principal. Throws 401, or 503 if the issuer's keys cannot be fetched. */
type Verify = (token: string) => Promise<Principal>;

/** A verifier that can load the issuers' keys before the first token. */
export type UserVerifier = Verify & {
  /**
   * Loads the keys of all issuers. Without a call of `loadKeys`, the first token of each issuer loads the keys of that
   * issuer.
   */
  loadKeys: () => Promise<void>;
};

/**
 * Whether a token has claims that only ID tokens carry: OpenID Connect Core §2, Cognito's `token_use`, Keycloak's
 * `typ`.
 */
const isIdToken = (payload: JwtPayload): boolean =>
  payload["token_use"] === "id" ||
  payload["typ"] === "ID" ||
  ["nonce", "at_hash", "c_hash"].some((claim) => claim in payload);

/**
 * Makes the checks that the library leaves to its caller. Throws unless the token:
 * - needs no extension (RFC 7515 §4.1.11), because we support none;
 * - is an access token by its `typ` (RFC 9068), if the issuer is configured with `at+jwt`;
 * - is not an ID token;
 * - is signed with an algorithm that is configured for the issuer (RFC 8725);
 * - has the claims `exp` and `sub`.
 */
function checkToken(issuer: Issuer, header: JwtHeader, payload: JwtPayload): void {
  if ("crit" in header) throw new Error("an extension that is not understood");
  const typ = typeof header["typ"] === "string" ? header["typ"].toLowerCase().replace(/^application\//, "") : "";
  if (issuer.typ === "at+jwt" && typ !== "at+jwt") throw new Error("not an access token by its typ");
  if (isIdToken(payload)) throw new Error("an ID token");
  if (!issuer.algorithms.some((algorithm) => algorithm === header.alg)) throw new Error("algorithm not allowed");
  if (payload.exp === undefined || !payload.sub) throw new Error("exp or sub is missing");
}

/**
 * The principal's id for a subject. A UUID from the primary issuer is the id itself, in lower case. Any other subject
 * becomes a UUIDv8 of SHA-256(issuer, subject), so that no issuer can make tokens for the users of another issuer.
 */
function principalId(issuer: Issuer, subject: string): string {
  if (issuer.primary && z.uuid().safeParse(subject).success) return subject.toLowerCase();
  return idOfWords(issuer.issuer, subject);
}

/** A claim that is a text of 1 to 320 characters, such as an e-mail address. Undefined for any other value. */
const textClaim = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" && value.length <= 320 ? value : undefined;

function principalOf(issuer: Issuer, payload: JwtPayload): Principal {
  const id = principalId(issuer, payload.sub ?? "");
  const optional = {
    first_name: textClaim(payload["given_name"]),
    last_name: textClaim(payload["family_name"]),
    locale: textClaim(payload["locale"]),
    email_verified: verifiedClaim(payload["email_verified"], issuer),
  };
  const groups = Array.isArray(payload["groups"]) ? payload["groups"] : [];
  return {
    type: "user",
    id,
    email: textClaim(payload["email"]) ?? placeholderEmail(id),
    groups: groups.filter((group) => typeof group === "string"),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  };
}

/**
 * The claim `email_verified`: a boolean (OpenID Connect Core §5.1), which some providers send as a string. Without the
 * claim, the issuer's setting counts. Any other value of the claim counts as unknown.
 */
function verifiedClaim(value: unknown, { emailsAreVerified }: Issuer): boolean | undefined {
  if (value === undefined) return emailsAreVerified ? true : undefined;
  if (value === true || value === "true") return true;
  return value === false || value === "false" ? false : undefined;
}

const inlineUri = (index: number): string => `inline:${index}`;

/**
 * How long keys are used before they are fetched again, and how long a verified token is remembered, in milliseconds.
 * If an issuer removes a key, the key is used for this time at most. A token that is verified at the end of this time
 * is remembered for the same time again. So after five minutes, no token that was signed with the key is accepted.
 * There is one exception: while the keys cannot be fetched, the former keys stay in use.
 */
const trustedMs = 150_000;

/**
 * How long the former keys are used after an attempt to fetch the keys has failed, until the next attempt, in
 * milliseconds.
 */
const retryMs = 60_000;

/** A cache that fetches key sets again after `trustedMs`. While a key set cannot be fetched, the former one is used. */
class FreshKeys extends SimpleJwksCache {
  readonly #freshUntil = new Map<string, number>();

  override async getJwks(uri: string): Promise<Jwks> {
    const keys = await super.getJwks(uri);
    this.#freshUntil.set(uri, Date.now() + trustedMs);
    return keys;
  }

  override async getJwk(uri: string, token: DecomposedJwt): Promise<JwkWithKid> {
    if (Date.now() >= (this.#freshUntil.get(uri) ?? Infinity))
      await this.getJwks(uri).catch(() => this.#freshUntil.set(uri, Date.now() + retryMs));
    return super.getJwk(uri, token);
  }
}

/** A cache of the issuers' key sets. A key set comes from the configuration, or over HTTPS. */
function keySets(issuers: readonly Issuer[]): SimpleJwksCache {
  const inline = new Map(issuers.flatMap(({ jwks }, index) => (jwks ? [[inlineUri(index), jwks] as const] : [])));
  const https = new SimpleFetcher();
  const fetch = async (uri: string): Promise<ArrayBuffer> => {
    const jwks = inline.get(uri);
    return jwks === undefined ? https.fetch(uri) : new TextEncoder().encode(JSON.stringify(jwks)).buffer;
  };
  return new FreshKeys({ fetcher: { fetch } });
}

/**
 * Creates a verifier for the configured issuers. Keys are cached for `trustedMs`. For a token with an unknown key, the
 * keys are fetched again, at a bounded rate.
 */
export function userVerifier(issuers: readonly Issuer[]): UserVerifier {
  const verifier = JwtVerifier.create(
    issuers.map((issuer, index) => ({
      issuer: issuer.issuer,
      audience: issuer.audience,
      jwksUri: issuer.jwksUri ?? inlineUri(index),
      customJwtCheck: ({ header, payload }: { header: JwtHeader; payload: JwtPayload }) =>
        checkToken(issuer, header, payload),
    })),
    { jwksCache: keySets(issuers) },
  );
  const byName = new Map(issuers.map((issuer) => [issuer.issuer, issuer]));
  const verify = async (token: string): Promise<Principal> => {
    try {
      const payload = await verifier.verify(token);
      const issuer = byName.get(payload.iss ?? "");
      if (!issuer) throw new Error("unknown issuer");
      return principalOf(issuer, payload);
    } catch (error) {
      if (error instanceof JwtExpiredError) throw new Problem("token_expired", "This access token has expired.");
      if (error instanceof FetchError) {
        throw new Problem("upstream_unavailable", "The keys of the token's issuer cannot be fetched. Try again.", {
          retry_after: 5,
        });
      }
      throw new Problem("unauthenticated", "This access token is not valid here.");
    }
  };
  return Object.assign(verify, { loadKeys: () => verifier.hydrate() });
}

const Expiry = z.object({ exp: z.number() });

/** When a verified JWT expires, in milliseconds since 1970. */
const expiryOf = (token: string): number =>
  Expiry.parse(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())).exp * 1_000;

/**
 * Verifies a token once, and then recognizes the token by its SHA-256, because the check of a signature takes more time
 * than all other computation of a request. A token is remembered until it expires, and for `trustedMs` at most. Refused
 * tokens are not remembered.
 */
export function rememberTokens(verify: Verify): Verify {
  const verified = new Map<string, { principal: Principal; untilMs: number }>();
  return async (token) => {
    const digest = hash("sha256", token);
    const earlier = verified.get(digest);
    if (earlier && Date.now() < earlier.untilMs) return earlier.principal;
    const principal = await verify(token);
    remember(verified, digest, { principal, untilMs: Math.min(expiryOf(token), Date.now() + trustedMs) });
    return principal;
  };
}
