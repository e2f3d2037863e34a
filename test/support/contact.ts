import type { Contact } from "../../shared/providers/registrar/registrar.ts";

/** The contact of a person who buys names. */
export const contact: Contact = {
  first_name: "Ada",
  last_name: "Example",
  organization: "Example Ltd",
  email: "ada@example.com",
  phone: "+14155552671",
  address_1: "1 Example Street",
  city: "San Francisco",
  state: "CA",
  zip: "94105",
  country: "US",
};
