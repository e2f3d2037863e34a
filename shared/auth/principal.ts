import * as z from "zod";

import { Id } from "../core/ids.ts";

/** The authenticated caller. `id` is a lower-case UUID, unique over all issuers and service accounts. */
export type Principal = {
  type: "user" | "service_account";
  id: string;
  email: string;
  /**
   * The claim `email_verified`. If the claim is missing, the value is true if the issuer has the setting
   * `emailsAreVerified`, and otherwise undefined.
   */
  email_verified?: boolean;
  first_name?: string;
  last_name?: string;
  locale?: string;
  /** The account of a service account; undefined for a user, who can belong to many accounts. */
  account_id?: string;
  /** The texts in the `groups` claim; empty for a service account. */
  groups: readonly string[];
};

/** The name and the e-mail address of a user, as far as they are known. */
export const Profile = z.object({
  email: z.string().optional(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
});
export type Profile = z.output<typeof Profile>;

/** The e-mail address of a user whose token has none. */
export const placeholderEmail = (userId: string): string => `${userId}@users.invalid`;

/**
 * The e-mail address in a user's token; undefined if the token has no address, or says that the address is not
 * verified.
 */
export const emailOf = ({ type, id, email, email_verified }: Principal): string | undefined =>
  type !== "user" || email === "" || email === placeholderEmail(id) || email_verified === false ? undefined : email;

/** The e-mail address of a user, if `email_verified` is true. Such an address proves who the user is. */
export const verifiedEmailOf = (principal: Principal): string | undefined =>
  principal.email_verified === true ? emailOf(principal) : undefined;

/** The profile of a user; empty for a service account. */
export function profileOf(principal: Principal): Profile {
  if (principal.type !== "user") return {};
  const { first_name, last_name } = principal;
  const email = emailOf(principal);
  return {
    ...(email === undefined ? {} : { email }),
    ...(first_name === undefined ? {} : { first_name }),
    ...(last_name === undefined ? {} : { last_name }),
  };
}

export const IdentityProfile = z
  .object({
    id: Id.meta({ description: "The principal's id, unique across all users and service accounts." }),
    email: z.string().meta({
      description:
        "The e-mail address in the token, which need not be verified. If a user's token has no address, this is `<id>@users.invalid`. For a service account, this is `<public id>@service-accounts.invalid`. Do not send mail to these `.invalid` addresses.",
    }),
    is_super_admin: z.boolean().meta({ description: "Whether the principal may do everything in every account." }),
    first_name: z.string().optional().meta({ description: "The given name, if the token has it." }),
    last_name: z.string().optional().meta({ description: "The family name, if the token has it." }),
    locale: z.string().optional().meta({ description: "The language as a BCP 47 tag, if the token has it." }),
  })
  .meta({ id: "IdentityProfile", description: "The user or service account that the access token belongs to." });
