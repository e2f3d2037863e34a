import type { StageSettings } from "../config/settings.ts";

/**
 * The default stage. `npm run synth` uses this stage. The stage only simulates domain names and DNS zones. All other
 * settings have their defaults. A deployment needs `issuers`, here or in ISSUERS.
 */
export const settings: StageSettings = {
  registrar: "embedded",
  dns: "embedded",
};
