import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import * as z from "zod";

import { Country } from "../../core/country.ts";
import { line, orNothing } from "../../core/text.ts";
import { MailAddress, mailAddressForm } from "../../mail/forwarding/target.ts";
import type { Contact } from "../../providers/registrar/registrar.ts";

const contactLine = (most: number, description: string) => line({ most, description });

const isPhone = (given: string): boolean => {
  const phone = parsePhoneNumberFromString(given);
  return phone !== undefined && phone.number === given && phone.isPossible();
};

/** A contact, without the checks that depend on the country. */
export const ContactMembers = z.strictObject({
  first_name: contactLine(100, "Given name."),
  last_name: contactLine(100, "Family name."),
  organization: orNothing(contactLine(255, "Company or organisation. Leave it out for a person.")),
  email: MailAddress.meta({ description: `E-mail address. The registry may write to it. ${mailAddressForm}` }),
  phone: z
    .string()
    .regex(/^\+[1-9]\d{6,14}$/, { error: "Write the number in E.164 form, such as +14155552671", abort: true })
    .refine(isPhone, { error: "This telephone number is not possible in its country" })
    .meta({ description: "Telephone number in E.164 form.", examples: ["+14155552671"] }),
  address_1: contactLine(255, "Street and number."),
  address_2: orNothing(contactLine(255, "Building, floor or department.")),
  city: contactLine(255, "City."),
  state: orNothing(contactLine(255, "State, province or region. Addresses in AU, CA and US need it.")),
  zip: orNothing(contactLine(32, "Postal code. It is needed where the country has postal codes.")),
  country: Country,
});

/** Countries whose addresses need a state, by `require` in Google's address data (libaddressinput). */
const countriesWithStates: ReadonlySet<string> = new Set(["AU", "CA", "US"]);

/** Countries in which all or many addresses have no postal code (Universal Postal Union). */
const countriesWithoutCodes: ReadonlySet<string> = new Set(
  `AE AG AO AQ AW BF BI BJ BO BQ BS BV BW BZ CD CF CG CI CK CM CW DJ DM ER FJ GD GH GM GQ GY HK HM JM KI KM KN KP LY ML MO
  MR MW NR NU QA RW SB SC SL SR SS ST SX SY TD TF TG TK TL TO TV UG UM VU WS YE ZW`.split(/\s+/),
);

/** The ends of names that only companies can register (.au licensing rules of auDA, 2.4.4). */
const companyEnds: readonly string[] = [".com.au", ".net.au"];

type Address = Partial<Pick<Contact, "organization" | "state" | "zip" | "country">>;

/** A member that a contact lacks, and the reason why the contact needs the member. */
type Missing = { member: "organization" | "state" | "zip"; message: string };

/** The members that a contact needs because of its country, and lacks. */
export function missingInCountry({ country = "", state, zip }: Address): Missing[] {
  const needsState = countriesWithStates.has(country) && isEmpty(state);
  const needsZip = !countriesWithoutCodes.has(country) && isEmpty(zip);
  return [
    ...(needsState ? [{ member: "state" as const, message: `An address in ${country} needs a state` }] : []),
    ...(needsZip ? [{ member: "zip" as const, message: `An address in ${country} needs a postal code` }] : []),
  ];
}

/** The members that a contact needs because of the registries of these names, and lacks. */
export function missingForNames(names: readonly string[], { organization }: Address): Missing[] {
  const needing = names.find((name) => companyEnds.some((end) => name.endsWith(end)));
  if (needing === undefined || !isEmpty(organization)) return [];
  return [{ member: "organization", message: `The registry of ${needing} registers names only for companies` }];
}

const isEmpty = (text: string | null | undefined): boolean => (text ?? "") === "";

/** The person or company that registers a name, with the data that registries require. */
export const ContactInfo = ContactMembers.superRefine((contact, context) => {
  for (const { member, message } of missingInCountry(contact)) {
    context.addIssue({ code: "custom", path: [member], message });
  }
}).meta({ id: "DomainContact", description: "The person or company that registers the domains." });
