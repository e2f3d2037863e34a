import fc from "fast-check";
import { expect, test } from "vitest";

import { localVat } from "../../../infra/local/start/local-vat.ts";
import { emptyProfile, type StoredProfile } from "../../../shared/wallet/profile.ts";
import { normalVatId, vatIdFault } from "../../../shared/wallet/vat-id.ts";
import { vatOn, vatRule, VatSettings } from "../../../shared/wallet/vat.ts";

const ruleOf = (profile: Partial<StoredProfile>, given: Partial<VatSettings> = {}, day = "2026-01-15") =>
  vatRule({ ...emptyProfile, ...profile }, day, { ...localVat, ...given });

const german = { country: "DE", vat_id: "DE123456788" } as const;

test.each([
  ["no profile", {}, { treatment: "domestic", country: "IE", rate: 2_300 }],
  ["the seller's country", { country: "IE" }, { treatment: "domestic", rate: 2_300 }],
  [
    "a business in the seller's country",
    { country: "IE", vat_id: "IE6433435F", vat_id_status: "valid" },
    { treatment: "domestic", rate: 2_300 },
  ],
  ["a person in the EU", { country: "FI" }, { treatment: "oss", country: "FI", rate: 2_550 }],
  [
    "a business in the EU",
    { ...german, vat_id_status: "valid" },
    { treatment: "reverse_charge", country: "DE", rate: 0 },
  ],
  [
    "a business that VIES has not confirmed",
    { ...german, vat_id_status: "unverified" },
    { treatment: "oss", rate: 1_900 },
  ],
  ["a business whose VAT id VIES does not know", { ...german, vat_id_status: "invalid" }, { treatment: "oss" }],
  ["a customer outside the EU", { country: "US" }, { treatment: "outside_eu", country: "US", rate: 0 }],
  ["Northern Ireland", { country: "GB", vat_id: "XI123456782", vat_id_status: "valid" }, { treatment: "outside_eu" }],
  ["Monaco", { country: "MC" }, { treatment: "oss", country: "FR", rate: 2_000 }],
] as const)("the VAT of %s", (_, profile, rule) => {
  expect(ruleOf(profile)).toMatchObject(rule);
});

test("without a register, the form of a VAT id is enough; without settings there is no VAT", () => {
  const unchecked = { ...german, vat_id_status: "unchecked" } as const;
  expect(ruleOf(unchecked, { register: "none" })).toMatchObject({ treatment: "reverse_charge" });
  expect(ruleOf(unchecked)).toMatchObject({ treatment: "oss" });
  expect(vatRule(emptyProfile, "2026-01-15")).toMatchObject({ treatment: "none", rate: 0 });
});

test("the settings need a rate for each country of the EU", () => {
  const { FI: _, ...rates } = localVat.rates;
  expect(VatSettings.safeParse({ ...localVat, rates }).success).toBe(false);
  expect(VatSettings.safeParse(localVat).success).toBe(true);
});

test("the rate of a country in the EU can change on days that the settings list in order", () => {
  const change = (from: string, rate: number) => ({ country: "FI", from, rate }) as const;
  const rate_changes = [change("2026-02-01", 26), change("2026-03-01", 24)];
  const rateOn = (day: string) => ruleOf({ country: "FI" }, { rate_changes }, day).rate;
  expect(["2026-01-31", "2026-02-01", "2026-02-28", "2026-03-01"].map(rateOn)).toEqual([2_550, 2_600, 2_600, 2_400]);
  expect(ruleOf({}, { rate_changes }, "2026-02-01").rate).toBe(2_300);
  expect(VatSettings.safeParse({ ...localVat, rate_changes }).success).toBe(true);
  expect(VatSettings.safeParse({ ...localVat, rate_changes: rate_changes.toReversed() }).success).toBe(false);
});

test("VAT is rounded half up, and differs from the exact amount by at most half a cent", () => {
  expect(vatOn(50, { treatment: "oss", country: "FI", rate: 2_550 })).toBe(13);
  expect(vatOn(2, { treatment: "domestic", country: "IE", rate: 2_500 })).toBe(1);
  fc.assert(
    fc.property(fc.nat(1e10), fc.nat(5_000), (net, rate) => {
      const vat = vatOn(net, { treatment: "oss", country: "FI", rate });
      expect(Math.abs(vat * 10_000 - net * rate)).toBeLessThanOrEqual(5_000);
    }),
  );
});

/** VAT ids that their owners publish, or that the authorities give as examples. */
const right =
  `ATU13585627 BE0411905847 CY10259033P CZ46505334 DE136695976 DK13585628 EE100931558 EL094259216 ESA28015865 FI20774740
  FR40303265045 GB980780684 HR33392005961 HU12892312 IE6433435F IE6433435OA IT00743110157 LT119511515 LU15027442 LV40003521600
  MT11679112 NL004495445B01 PL8567346215 PT501964843 RO18547290 SE123456789701 SI50223054 SK2022749619`.split(/\s+/);

const countryOf = (vatId: string): string => (vatId.startsWith("EL") ? "GR" : vatId.slice(0, 2));

test.each(right)("%s is a VAT id of its country, and of no other", (vatId) => {
  expect(vatIdFault(vatId, countryOf(vatId))).toBeUndefined();
  expect(vatIdFault(vatId, vatId.startsWith("SE") ? "FI" : "SE")).toMatch(/begins with/);
  expect(vatIdFault(vatId.slice(0, 3), countryOf(vatId))).toBeDefined();
});

// For the countries in this pattern, the product checks only the form of a VAT id.
test.each(right.filter((vatId) => !/^(BG|CZ|ES|LV)/.test(vatId)))("a wrong digit in %s is noticed", (vatId) => {
  // The first digit that no three digits in a row follow.
  const place = vatId.search(/\d(?!.*\d{3})/);
  const digit = (Number(vatId.charAt(place)) + 1) % 10;
  expect(vatIdFault(`${vatId.slice(0, place)}${digit}${vatId.slice(place + 1)}`, countryOf(vatId))).toBeDefined();
});

test("a VAT id can have spaces, points and small letters, and GR is not a prefix", () => {
  expect(normalVatId(" de 136.695-976 ")).toBe("DE136695976");
  expect(vatIdFault("GR094259216", "GR")).toMatch("begins with EL");
  expect(vatIdFault("XI980780684", "GB")).toBeUndefined();
  expect(vatIdFault("GB980780684", "IM")).toBeUndefined();
});
