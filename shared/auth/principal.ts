import * as z from "zod";

import { Id } from "../core/ids.ts";

/** The authenticated caller. `id` is a lower-case UUID, unique over all issuers and service accounts. */
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
    id: Id.meta({ description: "The principal's id, unique across all users and service accounts." }),
    email: z.string().meta({
      description: "The e-mail address. For a service account, it is `<public id>@service-accounts.invalid`.",
    }),
    is_super_admin: z.boolean().meta({ description: "Whether the principal may do everything in every account." }),
    first_name: z.string().optional().meta({ description: "The given name, if the issuer gives it." }),
    last_name: z.string().optional().meta({ description: "The family name, if the issuer gives it." }),
    locale: z.string().optional().meta({ description: "The language as a BCP 47 tag, if the issuer gives it." }),
  })
  .meta({ id: "IdentityProfile", description: "The user or service account that the access token belongs to." });
