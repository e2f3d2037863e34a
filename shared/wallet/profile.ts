import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Country } from "../core/country.ts";
import { line } from "../core/text.ts";
import { Day, Timestamp } from "../core/time.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";
import { normalVatId } from "./vat-id.ts";

/*
 * Access patterns
 *   the billing profile of an account   ACCOUNT#<id> / BILLING_PROFILE
 */
export const profileKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "BILLING_PROFILE" });

const VatIdStatus = z.enum(["unchecked", "unverified", "valid", "invalid"]);

/** The scripts that the fonts of the invoices have. */
const printed =
  "Use Latin, Greek, Cyrillic or Devanagari letters. The PDF of an invoice has the sign � in place of any other letter.";

/** The members that a customer writes, as they are stored. */
export const ProfileMembers = z.object({
  name: line({
    most: 200,
    description: `The company or the person that invoices are addressed to. ${printed}`,
  }).nullable(),
  address_lines: z
    .array(line({ most: 100, description: "Street and number, and further lines." }))
    .max(4)
    .meta({ description: `The lines of the address above the city, at most 4. ${printed}` }),
  postcode: line({ most: 20, description: "The postal code." }).nullable(),
  city: line({ most: 100, description: `The city. ${printed}` }).nullable(),
  country: Country.nullable(),
  vat_id: z
    .string()
    .max(40)
    .overwrite(normalVatId)
    .nullable()
    .meta({
      description:
        "The VAT id with its prefix, such as `IE6433435F`. It must be of the profile's country. The prefix of Greece is EL. Spaces, points and hyphens are removed.",
      examples: ["IE6433435F"],
    }),
  email: z.string().max(254).meta({ format: "email" }).nullable().meta({
    description:
      "The address at which we can reach the people who pay. The product sends no mail to this address: `notices.update` says who gets mails.",
  }),
});

export const BillingProfile = ProfileMembers.extend({
  vat_id_status: VatIdStatus.nullable().meta({
    description:
      "`valid`: VIES, the register of the EU, knows the VAT id. `unverified`: VIES has not answered yet, and is asked again each day. `invalid`: VIES did not know the VAT id when it was asked again. `unchecked`: only the form was checked. Null without a VAT id. If this deployment asks VIES, reverse charge applies only while the status is `valid`.",
  }),
  vat_id_checked_at: Timestamp.nullable().meta({ description: "When VIES last answered about the VAT id." }),
}).meta({ id: "BillingProfile", description: "The addressee of the invoices. The profile decides about the VAT." });
export type BillingProfile = z.output<typeof BillingProfile>;

/** The members of a profile that decide about the VAT. */
const VatFacts = BillingProfile.pick({ country: true, vat_id: true, vat_id_status: true });
export type VatFacts = z.output<typeof VatFacts>;

export const StoredProfile = BillingProfile.extend({
  /**
   * The members that decide about the VAT, as they were at the end of earlier days with another country or VAT id.
   * Absent if the country and the VAT id have not changed, or if an earlier version of the product changed them. If
   * `former_vat` is absent, the present members count for all unrecorded days.
   */
  former_vat: z.array(VatFacts.extend({ until: Day })).optional(),
  version: z.int(),
});
export type StoredProfile = z.output<typeof StoredProfile>;

/** The profile of an account that has not written a profile. */
export const emptyProfile: StoredProfile = {
  name: null,
  address_lines: [],
  postcode: null,
  city: null,
  country: null,
  vat_id: null,
  email: null,
  vat_id_status: null,
  vat_id_checked_at: null,
  version: 0,
};

export const readProfile = async (table: Reader, accountId: string): Promise<StoredProfile> =>
  (await table.get(profileKey(accountId), StoredProfile)) ?? emptyProfile;

export const profileKind = defineKind({
  name: "billing.profile",
  verbs: ["updated"],
  view: BillingProfile,
  seenWith: "billing.view",
});
