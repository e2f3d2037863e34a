import { expect, test } from "vitest";

import { batchItem, StoredBatch } from "../../../../shared/domains/purchase/batch.ts";
import { ContactInfo, missingForNames, missingInCountry } from "../../../../shared/domains/purchase/contact.ts";
import { Contact } from "../../../../shared/providers/registrar/registrar.ts";
import { contact } from "../../../support/domains.ts";

const given = (member: object): object => ({ ...contact, ...member });

const ids = { id: "b", account_id: "a", workspace_id: "w", created_at: "2026-01-01T00:00:00.000Z", version: 1 };
const batchOf = (one: object): StoredBatch => ({
  ...ids,
  contact: one as Contact,
  type: "registration",
  dns_mode: "hosted",
  waiting: [],
  own_ids: [],
});

test("a stored contact has the same members as the input", () => {
  expect(Object.keys(Contact.shape)).toEqual(Object.keys(ContactInfo.shape));
});

test("a new contact has visible text only, and a stored contact with other text can still be read with its purchase", () => {
  const soft = given({ organization: "Soft\u00adware", phone: "+1" });
  expect(ContactInfo.safeParse(given({})).success).toBe(true);
  expect(ContactInfo.safeParse(soft).success).toBe(false);
  expect(StoredBatch.parse(batchItem(batchOf(soft))).contact).toEqual(soft);
});

test("the e-mail address of a contact is kept in ASCII and in lower case", () => {
  for (const [address, kept] of [
    ["Ivan@пример.РФ", "ivan@xn--e1afmkfd.xn--p1ai"],
    ["O&M@Example.com", "o&m@example.com"],
    ["ada@mail.local", "ada@mail.local"],
  ]) {
    expect(ContactInfo.parse(given({ email: address })).email).toBe(kept);
  }
  expect(ContactInfo.safeParse(given({ email: "jörg@example.com" })).success).toBe(false);
});

test.each([
  ["US", []],
  ["US", ["state", "zip"]],
  ["CA", ["state"]],
  ["AU", ["zip"]],
  ["DE", []],
  ["DE", ["zip"]],
  ["GB", ["zip"]],
  ["HK", []],
  ["AE", []],
])("the contact of a person in %s is refused only for these missing members: %j", (country, needed) => {
  const { organization: _, ...person } = { ...contact, country };
  const without = Object.fromEntries(Object.entries(person).filter(([member]) => !needed.includes(member)));
  // An address in one of these countries needs no state. In Hong Kong and the Emirates it needs no postal code either.
  const free = country === "DE" || country === "HK" || country === "AE" ? { ...without, state: null } : without;
  const bare = country === "HK" || country === "AE" ? { ...free, zip: null } : free;
  const { success, error } = ContactInfo.safeParse(bare);
  expect(success).toBe(needed.length === 0);
  expect(error?.issues.map(({ path }) => path) ?? []).toEqual(needed.map((member) => [member]));
  expect(missingInCountry(bare as Contact).map(({ member }) => member)).toEqual(needed);
});

test("names for companies need an organization, and other names do not", () => {
  const person = { ...contact, organization: null };
  expect(missingForNames(["example.com", "example.au"], person)).toEqual([]);
  expect(missingForNames(["example.com", "example.com.au"], person)).toMatchObject([{ member: "organization" }]);
  expect(missingForNames(["example.com.au"], contact)).toEqual([]);
});
