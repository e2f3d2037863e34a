import { embeddedVatRegister } from "./embedded.ts";
import type { VatRegister } from "./vat.ts";
import { vies } from "./vies.ts";

/** The register of VAT ids of this kind; undefined for `none`. */
export function vatRegisterOf(kind: "none" | "vies" | "embedded"): VatRegister | undefined {
  if (kind === "none") return undefined;
  return kind === "vies" ? vies() : embeddedVatRegister;
}
