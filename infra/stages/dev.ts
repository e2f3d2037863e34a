import type { StageSettings } from "../config/settings.ts";

/**
 * The default stage, with default settings. `npm run synth` uses it. It only simulates domain names and DNS zones. A
 * deployment needs `issuers`, here or in ISSUERS.
 */
export const settings: StageSettings = {
  registrar: "embedded",
  dns: "embedded",
};
