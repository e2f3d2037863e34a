import { onTestFinished, vi } from "vitest";

import { localVat } from "../../infra/local/start/local-vat.ts";
import type { VatSettings } from "../../shared/wallet/vat.ts";

/** Sets the VAT settings of the local product, with an Irish seller, until the test ends. */
export function useVat(given: Partial<VatSettings> = {}): void {
  vi.stubEnv("VAT", JSON.stringify({ ...localVat, ...given }));
  onTestFinished(() => void vi.unstubAllEnvs());
}
