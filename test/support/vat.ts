import { onTestFinished, vi } from "vitest";

import { localVat } from "../../infra/local/start/local-vat.ts";
import type { VatSettings } from "../../shared/wallet/vat.ts";

/** Sets the VAT of the local product for this test, with an Irish seller. */
export function useVat(given: Partial<VatSettings> = {}): void {
  vi.stubEnv("VAT", JSON.stringify({ ...localVat, ...given }));
  onTestFinished(() => void vi.unstubAllEnvs());
}
