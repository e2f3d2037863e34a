import type { Issuer } from "../core/environment.ts";
import { Problem } from "../core/errors.ts";
import type { SeenItems } from "../table/seen-items.ts";
import type { Table } from "../table/table.ts";
// This import is static on purpose. With a dynamic import, esbuild would wrap zod, and every module that uses zod, in
// functions that load more slowly.
import { emailAtIssuer } from "./issuer-metadata.ts";
import type { Principal } from "./principal.ts";
import { expectedService, isServiceToken, servicePrincipal } from "./service-token.ts";

/** The bearer token in an `Authorization` header (RFC 6750); undefined if the header has none. */
const bearerToken = (header = ""): string | undefined => /^Bearer +([^\s]+) *$/i.exec(header)?.[1];

/**
 * The principal of a service account token that this process has accepted before. Undefined for any other header, and
 * for a token that is revoked or expired, as far as this process knows. Use this only to guess which items to read.
 */
export function expectedPrincipal(header: string | undefined, seen: SeenItems, now: Date): Principal | undefined {
  const token = bearerToken(header);
  return token !== undefined && isServiceToken(token) ? expectedService(token, seen, now) : undefined;
}

/**
 * A function that asks the issuer of a user's token for the user's e-mail address. The token must have been verified.
 */
export const askEmailOf = (header: string | undefined, issuers: readonly Issuer[]) => async () => {
  const token = bearerToken(header);
  if (token === undefined || isServiceToken(token)) return undefined;
  return emailAtIssuer(token, issuers);
};

/**
 * Returns the principal of an `Authorization` header (RFC 6750). The token is a JWT of a configured issuer or a service
 * account token. Throws 401 `unauthenticated`, `token_expired` or `token_revoked`. An `unauthenticated` does not say
 * which check of the token failed. Also throws the errors of `verifyUser`.
 */
export async function authenticate(
  header: string | undefined,
  verifyUser: (token: string) => Promise<Principal>,
  table: Table,
  now: Date,
): Promise<Principal> {
  const token = bearerToken(header);
  if (token === undefined) {
    throw new Problem("unauthenticated", "Send an access token in the header `Authorization: Bearer <token>`.");
  }
  return isServiceToken(token) ? servicePrincipal(token, table, now) : verifyUser(token);
}
