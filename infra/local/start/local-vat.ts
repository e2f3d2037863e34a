import type { VatSettings } from "../../../shared/wallet/vat.ts";
import { standardVatRates } from "../../config/vat-rates.ts";

/** The VAT settings of the local product: an invented seller in Ireland, with the standard rates. */
export const localVat: VatSettings = {
  seller_country: "IE",
  seller_vat_id: "IE6433435F",
  seller_name: "Hosted Mail Ltd",
  seller_address: ["1 Example Street", "Dublin D02 EX11", "Ireland"],
  rates: standardVatRates,
  national_currency: { code: "EUR", rate: "0.86" },
  register: "embedded",
};

/** Sets the VAT of this process, unless the environment has it. The product and the operator's command call this. */
export const setLocalVat = (): void => void (process.env["VAT"] ??= JSON.stringify(localVat));
