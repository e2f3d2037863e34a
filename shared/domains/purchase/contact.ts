import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import * as z from "zod";

import { line } from "../../core/text.ts";
import { isCountry } from "./countries.ts";

const text = (most: number, description: string) => line({ most, description });

const isPhone = (given: string): boolean => {
  const phone = parsePhoneNumberFromString(given);
  return phone !== undefined && phone.number === given && phone.isPossible();
};

/** Who registers a name, as registries want to know it. */
export const ContactInfo = z
  .strictObject({
    first_name: text(100, "Given name."),
    last_name: text(100, "Family name."),
    organization: text(255, "Company or organisation; for a person, their name."),
    email: z.email().max(254).meta({ description: "E-mail address; the registry may write to it." }),
    phone: z
      .string()
      .regex(/^\+[1-9]\d{6,14}$/, { error: "Write the number in E.164 form, such as +14155552671", abort: true })
      .refine(isPhone, { error: "This is no telephone number of its country" })
      .meta({ description: "Telephone number in E.164 form.", examples: ["+14155552671"] }),
    address_1: text(255, "Street and number."),
    city: text(255, "City."),
    state: text(255, "State, province or region."),
    zip: text(32, "Postal code."),
    country: z
      .string()
      .regex(/^[A-Z]{2}$/, { error: "Write the two capital letters of ISO 3166-1, such as US", abort: true })
      .refine(isCountry, { error: "This is no country code of ISO 3166-1" })
      .meta({ description: "ISO 3166-1 alpha-2.", examples: ["US"] }),
  })
  .meta({ id: "DomainContact", description: "Who registers the domains." });

/** A contact as it is stored: what was let in once is read for ever, whatever is let in since. */
export const StoredContact = z.object({
  first_name: z.string(),
  last_name: z.string(),
  organization: z.string(),
  email: z.string(),
  phone: z.string(),
  address_1: z.string(),
  city: z.string(),
  state: z.string(),
  zip: z.string(),
  country: z.string(),
});
