import { expect, test } from "vitest";

import { profileKey } from "../../../../shared/wallet/profile.ts";
import { billing } from "../../../support/billing.ts";
import { write } from "../../../support/domain-work.ts";
import { useVat } from "../../../support/vat.ts";
import { newAccount, newMember, type Account } from "../../../support/world.ts";

const change = (account: Account, body: object) => billing(account, "PATCH", "profile", body);
const get = async (account: Account) => (await billing(account, "GET", "profile")).body;

const company = {
  name: "Beispiel GmbH",
  address_lines: ["Hauptstraße 1"],
  postcode: "10115",
  city: "Berlin",
  country: "DE",
  email: "rechnung@example.de",
};

test("is empty at first, keeps omitted members, and removes members with null", async () => {
  const account = await newAccount();
  expect(await get(account)).toEqual({
    name: null,
    address_lines: [],
    postcode: null,
    city: null,
    country: null,
    vat_id: null,
    email: null,
    vat_id_status: null,
    vat_id_checked_at: null,
  });
  expect((await change(account, company)).body).toMatchObject({ ...company, vat_id: null });
  expect((await change(account, { postcode: null, vat_id: "de 136.695.976" })).body).toMatchObject({
    ...company,
    postcode: null,
    vat_id: "DE136695976",
    vat_id_status: "unchecked",
  });
  expect((await change(account, { vat_id: null })).body).toMatchObject({ vat_id: null, vat_id_status: null });
  expect(await get(account)).toMatchObject({ name: company.name, postcode: null });
});

test.each([
  ["of another country", { vat_id: "FR40303265045" }, "vat_id"],
  ["of Greece with the prefix GR in place of EL", { country: "GR", vat_id: "GR094259216" }, "vat_id"],
  ["with a wrong check digit", { vat_id: "DE136695977" }, "vat_id"],
  ["of a wrong form", { vat_id: "DE1" }, "vat_id"],
  ["without a country", { country: null, vat_id: "DE136695976" }, "country"],
  ["without a name", { name: null, vat_id: "DE136695976" }, "name"],
  ["that its register does not know", { vat_id: "DE100064040" }, "vat_id"],
])("a VAT id %s is a 422 at its place, and changes nothing", async (_, body, member) => {
  useVat();
  const account = await newAccount();
  await change(account, company);
  const refused = await change(account, body);
  expect(refused.status).toBe(422);
  expect(refused.body.errors ?? refused.body.detail).toMatchObject([{ loc: ["body", member] }]);
  expect(await get(account)).toMatchObject({ ...company, vat_id: null });
});

test("a move to another country is refused while the VAT id belongs to the old country", async () => {
  const account = await newAccount();
  await change(account, { ...company, vat_id: "DE136695976" });
  expect((await change(account, { country: "AT" })).status).toBe(422);
  expect((await change(account, { country: "AT", vat_id: "ATU13585627" })).status).toBe(200);
});

test("a VAT id is stored as unverified if its register does not answer", async () => {
  useVat();
  const account = await newAccount();
  const { body, status } = await change(account, { ...company, vat_id: "DE100085038" });
  expect([status, body.vat_id_status]).toEqual([200, "unverified"]);
});

test.each([
  { country: "XX" },
  { country: "de" },
  { email: "nobody" },
  { name: "" },
  { address_lines: ["a", "b", "c", "d", "e"] },
  { color: 1 },
])("the change %j is refused with 422", async (body) => {
  expect((await change(await newAccount(), body)).status).toBe(422);
});

test("stores an e-mail address in its normal form, and still returns an address that was stored in another form", async () => {
  const account = await newAccount();
  const { body } = await change(account, { email: "Ada@Bücher.example" });
  expect(body.email).toBe("ada@xn--bcher-kva.example");
  await write({ update: profileKey(account.id), set: { email: "Ada@ab--cd.example" } });
  expect((await change(account, { city: "Bonn" })).body).toMatchObject({ email: "Ada@ab--cd.example", city: "Bonn" });
});

test("billing.view is enough to see the profile, and billing.manage is needed to change it", async () => {
  const account = await newAccount();
  const viewer = await newMember(account, { capability: "billing.view" });
  expect((await billing(account, "GET", "profile", undefined, viewer)).status).toBe(200);
  expect((await billing(account, "PATCH", "profile", {}, viewer)).body).toMatchObject({
    required_capability: "billing.manage",
  });
});

test("a change of the name or the address keeps the register's result for the VAT id, and does not ask again", async () => {
  useVat();
  const account = await newAccount();
  const { body } = await change(account, { ...company, vat_id: "DE136695976" });
  expect(body).toMatchObject({ vat_id_status: "valid", vat_id_checked_at: expect.stringMatching(/Z$/) });
  const { vat_id_status, vat_id_checked_at } = body;
  const renamed = await change(account, { name: "Muster AG", city: "Bonn" });
  expect(renamed.body).toMatchObject({ name: "Muster AG", city: "Bonn", vat_id_status, vat_id_checked_at });
});
