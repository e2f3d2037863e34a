import {
  type JsonWebKey,
  createPrivateKey,
  generateKeyPairSync,
  hash,
  randomUUID,
  sign as signBytes,
} from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";

import * as z from "zod";

import type { Issuer } from "../../../shared/core/environment.ts";
import { MailAddress } from "../../../shared/mail/forwarding/target.ts";
import { StartProblem } from "../command-line.ts";
import { type Answer, isJson, jsonAnswer, parseJson } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";

/** The claims of a person. Absent claims are not in the token. */
export type Person = {
  sub: string;
  email?: string | undefined;
  given_name?: string | undefined;
  family_name?: string | undefined;
  locale?: string | undefined;
  groups?: readonly string[] | undefined;
};

export type TokenIssuer = {
  /**
   * Returns the entry for the environment variable ISSUERS, with inline keys. With `baseUrl`, people can sign in on the
   * local pages at this address.
   */
  issuerConfig: (baseUrl?: string) => Issuer;
  /** Makes an RFC 9068 access token for a person. */
  mint: (person: Person, options?: { expiresInSeconds?: number; now?: Date }) => string;
  /**
   * Signs any header and payload as a JWS, with the issuer's key and ES256. Tests use this function for forged tokens.
   */
  sign: (header: Record<string, unknown>, payload: Record<string, unknown>) => string;
  /** The key id, an RFC 7638 thumbprint. */
  kid: string;
};

/** The `iss` of the embedded issuer. Nobody fetches keys from this address, because ISSUERS contains the keys. */
export const issuerUrl = "http://127.0.0.1/_local/issuer";
export const audience = "hosted-mail-api";
export const clientId = "hosted-mail-local";

/** The settings for signing in at the embedded issuer (infra/local/pages/sign-in.ts). */
const signInFor = (baseUrl: string): NonNullable<Issuer["signIn"]> => ({
  clientId,
  authorizationEndpoint: `${baseUrl}/_local/authorize`,
  tokenEndpoint: `${baseUrl}/_local/token`,
  scope: "openid email profile",
  parameters: {},
});

const PrivateKey = z.object({
  kty: z.literal("EC"),
  crv: z.literal("P-256"),
  x: z.string(),
  y: z.string(),
  d: z.string(),
});

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function newKey(): JsonWebKey {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
}

/** Creates an issuer with a P-256 key. `jwk` is the private key. By default the key is new, and is not stored. */
export function createIssuer(jwk: JsonWebKey = newKey()): TokenIssuer {
  const { crv, kty, x, y } = PrivateKey.parse(jwk);
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  const kid = hash("sha256", JSON.stringify({ crv, kty, x, y }), "base64url");

  const sign: TokenIssuer["sign"] = (header, payload) => {
    const signed = `${encode(header)}.${encode(payload)}`;
    // RFC 7518 §3.4: the signature is R and S concatenated, not Node's default ASN.1 structure.
    const signature = signBytes("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
    return `${signed}.${signature.toString("base64url")}`;
  };

  const mint: TokenIssuer["mint"] = (person, { expiresInSeconds = 86_400, now = new Date() } = {}) => {
    const iat = Math.floor(now.getTime() / 1000);
    const claims = {
      iss: issuerUrl,
      aud: audience,
      client_id: clientId,
      iat,
      exp: iat + expiresInSeconds,
      jti: randomUUID(),
    };
    return sign({ alg: "ES256", typ: "at+jwt", kid }, { ...claims, ...person });
  };

  const issuerConfig: TokenIssuer["issuerConfig"] = (baseUrl) => ({
    issuer: issuerUrl,
    audience: [audience],
    jwks: { keys: [{ kty, crv, x, y, kid, alg: "ES256", use: "sig" }] },
    algorithms: ["ES256"],
    typ: "at+jwt",
    primary: true,
    emailsAreVerified: true,
    ...(baseUrl === undefined ? {} : { signIn: signInFor(baseUrl) }),
  });

  return { issuerConfig, mint, sign, kid };
}

/**
 * Opens the issuer whose key is in `file` (mode 0600). Creates the file with a new key if it is missing. Throws
 * `StartProblem` if the file does not contain a P-256 private key.
 */
export async function openIssuer(file: string): Promise<TokenIssuer> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) {
    const jwk = newKey();
    await writeFile(`${file}.new`, `${JSON.stringify(jwk)}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
    return createIssuer(jwk);
  }
  try {
    return createIssuer(PrivateKey.parse(JSON.parse(text)));
  } catch {
    throw new StartProblem(`${file} does not contain the key of the local issuer. Delete this file to get a new key.`);
  }
}

const TokenRequest = z.strictObject({
  sub: z.string().min(1),
  email: MailAddress.optional(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
  locale: z.string().optional(),
  groups: z.array(z.string()).optional(),
  /** At most a year. */
  expires_in_seconds: z.int().min(1).max(31_536_000).default(86_400),
});

const refusedAnswer = (status: number, message: string): Answer => jsonAnswer(status, { message });

/**
 * Mints a token. Accepts only JSON, because a page of another site could post a form here. Before a page of another
 * site can post JSON, the browser sends a preflight. This server refuses the preflight.
 */
function mint(issuer: TokenIssuer, { headers, body }: LocalRequest): Answer {
  if (!isJson({ headers })) return refusedAnswer(415, "Send the body as `Content-Type: application/json`.");
  const { success, data, error } = TokenRequest.safeParse(parseJson(body.toString()));
  if (!success) return refusedAnswer(422, z.prettifyError(error));
  const { sub, email, first_name: given_name, last_name: family_name, locale, groups } = data;
  const expiresInSeconds = data.expires_in_seconds;
  const token = issuer.mint({ sub, email, given_name, family_name, locale, groups }, { expiresInSeconds });
  return jsonAnswer(201, { token, token_type: "Bearer", expires_in_seconds: expiresInSeconds });
}

/**
 * `/_local/tokens`: tokens for the user of this machine. Only the local product has this path.
 * - GET: the demo's tokens, or 503 until the demo exists.
 * - POST: a token of the embedded issuer for any person.
 */
export const tokenPaths = (issuer: TokenIssuer, demo: () => unknown): LocalPath[] => [
  {
    method: "GET",
    path: "/_local/tokens",
    handle: () => {
      const tokens = demo();
      return tokens === undefined
        ? refusedAnswer(503, "The demo data does not exist yet. Try again in a moment.")
        : jsonAnswer(200, tokens);
    },
  },
  { method: "POST", path: "/_local/tokens", handle: (request) => mint(issuer, request) },
];
