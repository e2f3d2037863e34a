import * as z from "zod";

import type { VatAnswer, VatRegister } from "./vat.ts";

const address = "https://ec.europa.eu/taxation_customs/vies/rest-api/ms";
const viesTimeoutMs = 8_000;

/**
 * The answer of VIES. `userError` is `VALID`, `INVALID`, or the reason why VIES could not ask the country, such as
 * `MS_UNAVAILABLE` or `MS_MAX_CONCURRENT_REQ`.
 */
const Answer = z.object({ isValid: z.boolean(), userError: z.string().optional() });

/** VIES, the register of the European Commission, by its REST interface. */
export const vies = (send: typeof fetch = fetch): VatRegister => ({
  ask: async (vatId): Promise<VatAnswer> => {
    try {
      const [country, number] = [vatId.slice(0, 2), encodeURIComponent(vatId.slice(2))];
      const response = await send(`${address}/${country}/vat/${number}`, {
        signal: AbortSignal.timeout(viesTimeoutMs),
      });
      const { data } = Answer.safeParse(await response.json());
      if (!response.ok || data === undefined) return "unavailable";
      if (data.isValid) return "valid";
      return data.userError === "INVALID" ? "invalid" : "unavailable";
    } catch {
      return "unavailable";
    }
  },
});
