import type { ContactDetail, CountryCode } from "@aws-sdk/client-route-53-domains";

import { Refused, type Contact, type RegistrarOperation } from "./registrar.ts";
import { codeOf, requireValue, sentenceOf, type Domains } from "./route53-client.ts";
import { domainDetail } from "./route53-registrations.ts";

/** A phone number in E.164 with a dot after the country code; undefined for an invalid number. */
async function dottedPhone(phone: string): Promise<string | undefined> {
  const { parsePhoneNumberFromString } = await import("libphonenumber-js/min");
  const parsed = parsePhoneNumberFromString(phone);
  return parsed && `+${parsed.countryCallingCode}.${parsed.nationalNumber}`;
}

/** The text; undefined for an empty or missing text. */
const given = (text: string | null | undefined): string | undefined => (text === "" ? undefined : (text ?? undefined));

/** A contact in the form of Route 53. Throws `Refused` for an invalid phone number. */
export async function contactDetail(contact: Contact): Promise<ContactDetail> {
  const phone = await dottedPhone(contact.phone);
  if (phone === undefined) throw new Refused("The contact's phone number is not valid.");
  const organization = given(contact.organization);
  return {
    FirstName: contact.first_name,
    LastName: contact.last_name,
    ContactType: organization === undefined ? "PERSON" : "COMPANY",
    OrganizationName: organization,
    AddressLine1: contact.address_1,
    AddressLine2: given(contact.address_2),
    City: contact.city,
    State: given(contact.state),
    CountryCode: contact.country as CountryCode,
    ZipCode: given(contact.zip),
    PhoneNumber: phone,
    Email: contact.email,
  };
}

/** A contact of Route 53 in our form. */
const contactOf = (detail: ContactDetail): Contact => ({
  first_name: detail.FirstName ?? "",
  last_name: detail.LastName ?? "",
  organization: detail.OrganizationName,
  email: detail.Email ?? "",
  phone: (detail.PhoneNumber ?? "").replaceAll(".", ""),
  address_1: detail.AddressLine1 ?? "",
  address_2: detail.AddressLine2,
  city: detail.City ?? "",
  state: detail.State,
  zip: detail.ZipCode,
  country: detail.CountryCode ?? "",
});

/** Begins to replace all contacts of a name. */
export async function setContact(
  { client, sdk }: Domains,
  name: string,
  contact: Contact,
): Promise<RegistrarOperation> {
  const detail = await contactDetail(contact);
  const request = {
    DomainName: name,
    AdminContact: detail,
    RegistrantContact: detail,
    TechContact: detail,
    BillingContact: detail,
  };
  try {
    const { OperationId } = await client.send(new sdk.UpdateDomainContactCommand(request));
    return { id: requireValue(OperationId), state: "running" };
  } catch (error) {
    const code = codeOf(error);
    if (code === "InvalidInput") throw new Refused(`The registrar says: ${sentenceOf((error as Error).message)}`);
    if (code === "TLDRulesViolation") throw new Refused("The rules of the registry do not allow this contact.");
    throw error;
  }
}

/** The registrant of a name in our AWS account; undefined when the name is not there. */
export async function contact(domains: Domains, name: string): Promise<Contact | undefined> {
  const detail = await domainDetail(domains, name);
  return detail?.RegistrantContact && contactOf(detail.RegistrantContact);
}
