import { resolve } from "node:path";

/** The environment of a Node process that reports another platform, such as `darwin-arm64`. */
export const pretending = (platform: string): Record<string, string> => ({
  PRETENDED_PLATFORM: platform,
  NODE_OPTIONS: `--require "${resolve(import.meta.dirname, "pretend-platform.cjs")}"`,
});
