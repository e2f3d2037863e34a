import type { VatRegister } from "./vat.ts";

/**
 * A register for development and tests. It does not know ids with the digits 404, does not answer for ids with the
 * digits 503, and knows all others.
 */
export const embeddedVatRegister: VatRegister = {
  ask: async (vatId) => (vatId.includes("404") ? "invalid" : vatId.includes("503") ? "unavailable" : "valid"),
};
