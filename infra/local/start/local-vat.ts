import type { VatSettings } from "../../../shared/wallet/vat.ts";

/**
 * The VAT of the local product: an invented seller in Ireland, and the standard rates of January 2026 as
 * public tables have them. The authority is the database "Taxes in Europe" (TEDB) of the European Commission.
 */
export const localVat: VatSettings = {
  seller_country: "IE",
  seller_vat_id: "IE6433435F",
  seller_name: "Hosted Mail Ltd",
  seller_address: ["1 Example Street", "Dublin D02 EX11", "Ireland"],
  rates: {
    AT: 20,
    BE: 21,
    BG: 20,
    CY: 19,
    CZ: 21,
    DE: 19,
    DK: 25,
    EE: 24,
    ES: 21,
    FI: 25.5,
    FR: 20,
    GR: 24,
    HR: 25,
    HU: 27,
    IE: 23,
    IT: 22,
    LT: 21,
    LU: 17,
    LV: 21,
    MT: 18,
    NL: 21,
    PL: 23,
    PT: 23,
    RO: 21,
    SE: 25,
    SI: 22,
    SK: 23,
  },
  national_currency: { code: "EUR", rate: "0.86" },
  register: "embedded",
};
