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
