import * as z from "zod";

import { Problem } from "../errors.ts";
import { Id } from "../ids.ts";
import type { Table } from "../table/table.ts";
import { isServiceToken, servicePrincipal } from "./service-token.ts";
import type { UserVerifier } from "./user-token.ts";

/** Who is calling. `id` is a lower-case UUID, unique over all issuers and service accounts. */
export type Principal = {
  type: "user" | "service_account";
  id: string;
  email: string;
  first_name?: string;
  last_name?: string;
  locale?: string;
  /** The account a service account belongs to; a user can belong to many. */
  account_id?: string;
  /** The `groups` claim, as the issuer sent it. */
  groups: readonly string[];
};

export const IdentityProfile = z
  .object({
    id: Id.meta({ description: "The principal's id: unique over all users and service accounts." }),
    email: z
      .string()
      .meta({ description: "The e-mail address; a service account has `<public id>@service-accounts.invalid`." }),
    is_super_admin: z.boolean().meta({ description: "Whether the principal may do everything everywhere." }),
    first_name: z.string().optional().meta({ description: "Given name, when the issuer tells it." }),
    last_name: z.string().optional().meta({ description: "Family name, when the issuer tells it." }),
    locale: z.string().optional().meta({ description: "BCP 47 language tag, when the issuer tells it." }),
  })
  .meta({ id: "IdentityProfile", description: "Who the access token stands for." });

/**
 * The principal of an `Authorization` header (RFC 6750): a JWT of a configured issuer or a service
 * account token. Throws 401 `unauthenticated`, `token_expired` or `token_revoked`, which never say
 * which check failed beyond that.
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
