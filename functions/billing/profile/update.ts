import { AccountParams } from "../../../shared/accounts/account.ts";
import { ProfileUpdate, updateProfile } from "../../../shared/billing/profile.ts";
import { vatRegisterHere } from "../../../shared/billing/services.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { BillingProfile, profileKey, profileKind } from "../../../shared/wallet/profile.ts";

export const route = defineRoute({
  name: "billing.profile.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/billing/profile", etag: profileKind },
  summary: "Change the billing profile",
  synonyms: ["company", "address", "vat", "tax id", "reverse charge", "bill to", "buyer", "edit", "set"],
  description:
    "Members that you leave out stay as they are. Null removes a value. For `address_lines`, send an empty list. The country and the VAT id decide which VAT is charged: for purchases after the change, and for the usage from the day of the change on. Without a country, the VAT of the seller's country is charged. A VAT id needs `name`, `city` and `country`, and must be of this country. If VIES does not know the VAT id, the answer is a 422. If VIES does not answer, the VAT id is `unverified`, and VAT is charged until VIES confirms the id. Invoices that exist do not change.",
  capability: "billing.manage",
  access: "write",
  limit: "outbound",
  params: AccountParams,
  body: ProfileUpdate,
  output: BillingProfile,
  ahead: ({ params }) => ({ keys: [profileKey(params.account_id)] }),
  run: ({ params, body }, context) => updateProfile(params.account_id, body, context, vatRegisterHere()),
});

export const handler = http(route);
