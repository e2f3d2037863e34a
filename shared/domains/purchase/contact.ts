import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import * as z from "zod";

import { line } from "../../core/text.ts";

/** The officially assigned country codes of ISO 3166-1 alpha-2. */
const codes = `
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD
CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF
GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN
KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA
NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI
SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI
VN VU WF WS YE YT ZA ZM ZW`;

const countries: ReadonlySet<string> = new Set(codes.trim().split(/\s/));

/** Whether a text is a country's code: two capital letters. */
const isCountry = (code: string): boolean => countries.has(code);

const contactLine = (most: number, description: string) => line({ most, description });

const isPhone = (given: string): boolean => {
  const phone = parsePhoneNumberFromString(given);
  return phone !== undefined && phone.number === given && phone.isPossible();
};

/** The person or company that registers a name, with the data that registries require. */
export const ContactInfo = z
  .strictObject({
    first_name: contactLine(100, "Given name."),
    last_name: contactLine(100, "Family name."),
    organization: contactLine(255, "Company or organisation. For a person, the person's name."),
    email: z.email().max(254).meta({ description: "E-mail address. The registry may write to it." }),
    phone: z
      .string()
      .regex(/^\+[1-9]\d{6,14}$/, { error: "Write the number in E.164 form, such as +14155552671", abort: true })
      .refine(isPhone, { error: "This is not a telephone number of its country" })
      .meta({ description: "Telephone number in E.164 form.", examples: ["+14155552671"] }),
    address_1: contactLine(255, "Street and number."),
    city: contactLine(255, "City."),
    state: contactLine(255, "State, province or region."),
    zip: contactLine(32, "Postal code."),
    country: z
      .string()
      .regex(/^[A-Z]{2}$/, { error: "Write the two capital letters of ISO 3166-1, such as US", abort: true })
      .refine(isCountry, { error: "This is not a country code of ISO 3166-1" })
      .meta({ description: "Country, as an ISO 3166-1 alpha-2 code.", examples: ["US"] }),
  })
  .meta({ id: "DomainContact", description: "The person or company that registers the domains." });

/**
 * A stored contact. It has no rules for its members, so that contacts remain readable when the rules for input change.
 */
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
