/**
 * The answer of a register of VAT ids. `unavailable`: the register did not answer in time, or cannot ask the id's
 * country now.
 */
export type VatAnswer = "valid" | "invalid" | "unavailable";

/** A register of VAT ids. */
export type VatRegister = {
  /** Asks about a VAT id in its normal form, with its prefix. Never throws. */
  ask: (vatId: string) => Promise<VatAnswer>;
};
