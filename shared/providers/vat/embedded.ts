import type { VatRegister } from "./vat.ts";

/**
 * A register for development and tests. An id with the digits 404 is not known, and with the digits 503 the register is
 * away. It knows all others.
 */
export const embeddedVatRegister: VatRegister = {
  ask: async (vatId) => (vatId.includes("404") ? "invalid" : vatId.includes("503") ? "unavailable" : "valid"),
};
