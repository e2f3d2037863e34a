import type { StageSettings } from "../config/settings.ts";

/**
 * The stage without a name: all by default, as in `npm run synth`. It registers no names with a registrar and has no
 * zones; a deployment needs `issuers`, here or in ISSUERS.
 */
export const settings: StageSettings = {
  registrar: "embedded",
  dns: "embedded",
};
