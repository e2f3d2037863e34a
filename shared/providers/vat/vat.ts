import * as z from "zod";

/**
 * The answer of a register of VAT ids. `unavailable`: the register gave no usable answer in time, or cannot ask the
 * id's country now.
 */
export type VatAnswer = "valid" | "invalid" | "unavailable";

/** A register of VAT ids. */
export type VatRegister = {
  /** Asks about a VAT id in its normal form, with its prefix. Never throws. */
  ask: (vatId: string) => Promise<VatAnswer>;
};

const viesAddress = "https://ec.europa.eu/taxation_customs/vies/rest-api/ms";
const viesTimeoutMs = 8_000;

/**
 * The answer of VIES. `userError` is `VALID`, `INVALID`, or the reason why VIES could not ask the country, such as
 * `MS_UNAVAILABLE` or `MS_MAX_CONCURRENT_REQ`.
 */
const Answer = z.object({ isValid: z.boolean(), userError: z.string().optional() });

/** VIES, the register of the European Commission, by its REST interface. */
const vies: VatRegister = {
  ask: async (vatId): Promise<VatAnswer> => {
    try {
      const [country, number] = [vatId.slice(0, 2), encodeURIComponent(vatId.slice(2))];
      const response = await fetch(`${viesAddress}/${country}/vat/${number}`, {
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
};

/**
 * A register for development and tests. It does not know ids with the digits 404, does not answer for ids with the
 * digits 503, and knows all others.
 */
const embeddedVatRegister: VatRegister = {
  ask: async (vatId) => {
    if (vatId.includes("404")) return "invalid";
    return vatId.includes("503") ? "unavailable" : "valid";
  },
};

/** The register of VAT ids of this kind; undefined for `none`. */
export function vatRegisterOf(kind: "none" | "vies" | "embedded"): VatRegister | undefined {
  if (kind === "none") return undefined;
  return kind === "vies" ? vies : embeddedVatRegister;
}
