import { Problem } from "../core/errors.ts";
import type { SeenItems } from "../table/seen-items.ts";
import type { Table } from "../table/table.ts";
import type { Principal } from "./principal.ts";
import { expectedService, isServiceToken, servicePrincipal } from "./service-token.ts";

/** The bearer token in an `Authorization` header (RFC 6750); undefined if it has none. */
const bearerToken = (header = ""): string | undefined => /^Bearer +([^\s]+) *$/i.exec(header)?.[1];

/**
 * The principal that a header's token belonged to when this process accepted it last; undefined if that is not known.
 * Use this only to guess which items to read.
 */
export function expectedPrincipal(header: string | undefined, seen: SeenItems, now: Date): Principal | undefined {
  const token = bearerToken(header);
  return token !== undefined && isServiceToken(token) ? expectedService(token, seen, now) : undefined;
}

/**
 * Returns the principal of an `Authorization` header (RFC 6750) with a JWT of a configured issuer or a service account
 * token. Throws 401 `unauthenticated`, `token_expired` or `token_revoked`; beyond the code, the error does not say
 * which check failed.
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
