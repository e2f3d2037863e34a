import { vi } from "vitest";

/** What the SDK of AWS needs in its environment: a region, and credentials that sign as AKID. */
export const awsEnvironment = (region: string): Record<string, string> => ({
  AWS_REGION: region,
  AWS_ACCESS_KEY_ID: "AKID",
  AWS_SECRET_ACCESS_KEY: "secret",
});

/** Puts it into this process's environment; what it answers takes all out again that was put there. */
export function stubAws(region: string): () => void {
  for (const [name, value] of Object.entries(awsEnvironment(region))) vi.stubEnv(name, value);
  return () => void vi.unstubAllEnvs();
}
