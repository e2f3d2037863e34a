import { AccountParams } from "../../../shared/accounts/account.ts";
import { getProfile } from "../../../shared/billing/profile.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { BillingProfile, profileKey, profileKind } from "../../../shared/wallet/profile.ts";

export const route = defineRoute({
  name: "billing.profile.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/profile", etag: profileKind },
  summary: "Get the billing profile",
  synonyms: ["company", "address", "vat", "tax id", "buyer", "bill to", "show"],
  description:
    "The addressee of the invoices. Members that nobody has set are null, and `address_lines` is an empty list.",
  capability: "billing.view",
  access: "read",
  params: AccountParams,
  output: BillingProfile,
  ahead: ({ params }) => ({ keys: [profileKey(params.account_id)] }),
  run: ({ params }, context) => getProfile(params.account_id, context),
});

export const handler = http(route);
