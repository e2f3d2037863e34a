import * as z from "zod";

import { AccountParams } from "../../accounts/account.ts";
import { defineKind } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";
import { Timestamp } from "../../core/time.ts";

export const ServiceAccountParams = AccountParams.extend({
  service_account_id: Id.meta({ description: "The service account's id." }),
});

export const ServiceAccount = z
  .object({
    id: Id.meta({ description: "The service account's id." }),
    account_id: Id.meta({ description: "The account it belongs to." }),
    name: z.string().meta({ description: "Its name." }),
    token_prefix: z.string().meta({ description: "How its token begins, to find it again." }),
    token_last4: z.string().meta({ description: "How its token ends." }),
    token_public_id: z.string().meta({ description: "The part of its token that is not secret." }),
    created_at: Timestamp.meta({ description: "When it was created." }),
    created_by_user_id: Id.meta({ description: "Who created it." }),
    expires_at: Timestamp.nullable().meta({ description: "When its token stops working; null for never." }),
    last_used_at: Timestamp.nullable().meta({ description: "When its tokens were last used, to within an hour." }),
    revoked_at: Timestamp.nullable().meta({ description: "When it was revoked; null while it works." }),
  })
  .meta({ id: "ServiceAccount", description: "A principal of its own, for programs." });

export const serviceAccountKind = defineKind({
  name: "auth.service_account",
  verbs: ["created", "rotated", "revoked"],
  view: ServiceAccount,
  seenWith: "auth.manage",
});

export const ServiceAccountWithToken = ServiceAccount.extend({
  token: z.string().meta({ description: "The access token. It is shown this once and kept as a hash." }),
}).meta({ id: "ServiceAccountWithToken", description: "A service account with its new token." });
