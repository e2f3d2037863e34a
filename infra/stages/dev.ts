import type { StageSettings } from "../config/settings.ts";

/**
 * The default stage, with default settings, as in `npm run synth`. Names and zones are only simulated. A deployment
 * needs `issuers`, here or in ISSUERS.
 */
export const settings: StageSettings = {
  registrar: "embedded",
  dns: "embedded",
};
