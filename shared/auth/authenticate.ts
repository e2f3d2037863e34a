import { Problem } from "../core/errors.ts";
import type { Table } from "../table/table.ts";
import type { Principal } from "./principal.ts";
import { isServiceToken, servicePrincipal } from "./service-token.ts";
import type { UserVerifier } from "./user-token.ts";

/**
 * Returns the principal of an `Authorization` header (RFC 6750) with a JWT of a configured issuer or a service account
 * token. Throws 401 `unauthenticated`, `token_expired` or `token_revoked`; beyond the code, the error does not say
 * which check failed.
 */
export async function authenticate(
  header: string | undefined,
  verifyUser: UserVerifier,
  table: Table,
  now: Date,
): Promise<Principal> {
  const token = /^Bearer +([^\s]+) *$/i.exec(header ?? "")?.[1];
  if (token === undefined) {
    throw new Problem("unauthenticated", "Send an access token in the header `Authorization: Bearer <token>`.");
  }
  return isServiceToken(token) ? servicePrincipal(token, table, now) : verifyUser(token);
}
