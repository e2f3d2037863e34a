import * as z from "zod";

import type { Issuer } from "../core/environment.ts";
import { Problem } from "../core/errors.ts";

const issuerTimeoutMs = 5_000;

// Every route loads this file, but few requests need the schemas of an issuer's answers. So a schema is built when it
// is needed.
function metadataSchema() {
  const endpoint = z.url({ protocol: /^https$/ }).optional();
  return z.object({
    issuer: z.string(),
    authorization_endpoint: endpoint,
    token_endpoint: endpoint,
    userinfo_endpoint: endpoint,
  });
}
type Metadata = z.output<ReturnType<typeof metadataSchema>>;

const noAnswer = (): Problem =>
  new Problem("upstream_unavailable", "The sign-in service does not answer. Try again.", { retry_after: 5 });

/**
 * Fetches JSON from an issuer. Undefined for a status below 500 that is not 200. Throws 503 for a status of 500 or
 * more, for a redirect, if there is no answer, or if the answer is not JSON.
 */
async function fetchJson(url: string, headers: Record<string, string> = {}): Promise<unknown> {
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json", ...headers },
      redirect: "error",
      signal: AbortSignal.timeout(issuerTimeoutMs),
    });
    if (response.status >= 500) throw new Error(`status ${response.status}`);
    return response.status === 200 ? await response.json() : undefined;
  } catch {
    throw noAnswer();
  }
}

/**
 * How long a failure is remembered, in milliseconds. In this time, requests that need the metadata fail at once, so
 * that they do not all wait for an issuer that is down.
 */
const failureKeptMs = 5_000;

/** The metadata of each issuer, by the issuer's name. The reading may still be under way. */
const known = new Map<string, Promise<Metadata>>();
/** When the last reading of an issuer's metadata failed, by the issuer's name, as `performance.now()`. */
const failed = new Map<string, number>();

/**
 * An issuer's metadata (OpenID Connect Discovery §4). A process fetches the metadata once. After a failure, this
 * function throws 503 for five seconds before it tries again.
 */
async function metadataOf({ issuer }: Issuer): Promise<Metadata> {
  if (performance.now() - (failed.get(issuer) ?? -Infinity) < failureKeptMs) throw noAnswer();
  const found = known.get(issuer) ?? readMetadata(issuer);
  known.set(issuer, found);
  try {
    return await found;
  } catch (error) {
    known.delete(issuer);
    failed.set(issuer, performance.now());
    throw error;
  }
}

async function readMetadata(issuer: string): Promise<Metadata> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const { data } = metadataSchema().safeParse(await fetchJson(url));
  if (data?.issuer !== issuer) throw noAnswer();
  return data;
}

/**
 * How people sign in: the endpoints of the authorization code flow (RFC 6749 §4.1) and the parameters of the request.
 */
export const SignIn = z
  .object({
    authorization_endpoint: z.string().meta({ description: "Where the browser is sent to sign in." }),
    token_endpoint: z
      .string()
      .meta({ description: "The address at which the code that the browser brings back is exchanged for the token." }),
    client_id: z.string().meta({ description: "The public client. PKCE (RFC 7636) is required." }),
    scope: z.string().meta({ description: "The scope of the request." }),
    parameters: z.record(z.string(), z.string()).meta({ description: "Further parameters of the request." }),
  })
  .meta({ id: "SignIn", description: "How a person signs in at the issuer of access tokens." });
export type SignIn = z.output<typeof SignIn>;

/**
 * How people sign in at the first issuer with the setting `signIn`. Null if no issuer has this setting, or if an
 * endpoint is missing in both the setting and the issuer's metadata. Throws 503 if the metadata is needed and cannot be
 * read.
 */
export async function signInAt(issuers: readonly Issuer[]): Promise<SignIn | null> {
  const issuer = issuers.find(({ signIn }) => signIn !== undefined);
  if (!issuer?.signIn) return null;
  const { clientId, authorizationEndpoint, tokenEndpoint, scope, parameters } = issuer.signIn;
  const isComplete = authorizationEndpoint !== undefined && tokenEndpoint !== undefined;
  const metadata = isComplete ? undefined : await metadataOf(issuer);
  const authorization_endpoint = authorizationEndpoint ?? metadata?.authorization_endpoint;
  const token_endpoint = tokenEndpoint ?? metadata?.token_endpoint;
  if (authorization_endpoint === undefined || token_endpoint === undefined) return null;
  return { authorization_endpoint, token_endpoint, client_id: clientId, scope, parameters };
}

const userInfoSchema = () =>
  z.object({
    sub: z.string(),
    email: z.string().min(1).max(320).optional(),
    email_verified: z.union([z.boolean(), z.literal("true"), z.literal("false")]).optional(),
  });

const claimsSchema = () => z.object({ iss: z.string(), sub: z.string() });

/**
 * The verified e-mail address of a user, from the userinfo endpoint of the user's issuer (OpenID Connect Core §5.3).
 * `token` is an access token that was verified before. Undefined if the issuer has no userinfo endpoint, gives no
 * address, or answers about another subject. Also undefined unless the address is verified. If the answer does not say
 * whether it is, the issuer's setting `emailsAreVerified` counts. Throws 503 if the issuer does not answer.
 */
export async function emailAtIssuer(token: string, issuers: readonly Issuer[]): Promise<string | undefined> {
  const payload = token.split(".")[1] ?? "";
  const { iss, sub } = claimsSchema().parse(JSON.parse(Buffer.from(payload, "base64url").toString()));
  const issuer = issuers.find((one) => one.issuer === iss);
  if (!issuer) return undefined;
  const endpoint = issuer.userinfoEndpoint ?? (issuer.jwks ? undefined : (await metadataOf(issuer)).userinfo_endpoint);
  if (endpoint === undefined) return undefined;
  const { data } = userInfoSchema().safeParse(await fetchJson(endpoint, { authorization: `Bearer ${token}` }));
  if (data?.sub !== sub) return undefined;
  return String(data.email_verified ?? issuer.emailsAreVerified) === "true" ? data.email : undefined;
}
