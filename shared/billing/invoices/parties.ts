import * as z from "zod";

import { seller } from "../../wallet/catalogue.ts";
import type { StoredProfile } from "../../wallet/profile.ts";
import { countryName, vatSettings } from "../../wallet/vat.ts";

/** The seller or the buyer on an invoice: the name, the lines below it, and the VAT id. */
export const Party = z.object({ name: z.string(), lines: z.array(z.string()), vat_id: z.string().optional() });
export type Party = z.output<typeof Party>;

export const PartyView = z
  .object({
    name: z.string().meta({ description: "The name." }),
    lines: z.array(z.string()).meta({ description: "The lines of the address." }),
    vat_id: z.string().nullable().meta({ description: "The VAT id. Null if there is none." }),
  })
  .meta({ id: "InvoiceParty", description: "The seller or the buyer of an invoice." });

/** A party as callers see it. */
export const partyView = ({ name, lines, vat_id }: Party): z.output<typeof PartyView> => ({
  name,
  lines,
  vat_id: vat_id ?? null,
});

/** The seller of this deployment. */
export function presentSeller(): Party {
  const settings = vatSettings();
  if (settings === undefined) return seller;
  const { seller_name, seller_address, seller_vat_id } = settings;
  return { name: seller_name ?? seller.name, lines: seller_address ?? seller.lines, vat_id: seller_vat_id };
}

/** The buyer on an invoice, from the billing profile. */
export function buyerOf({ name, address_lines, postcode, city, country, vat_id }: StoredProfile): Party {
  const cityLine = [postcode, city].filter((part) => part !== null).join(" ");
  const countryLine = country === null ? "" : countryName(country);
  return {
    name: name ?? "",
    lines: [...address_lines, ...[cityLine, countryLine].filter((text) => text !== "")],
    ...(vat_id === null ? {} : { vat_id }),
  };
}
