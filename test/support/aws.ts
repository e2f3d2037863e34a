import { vi } from "vitest";

/** The environment variables that the SDK of AWS needs: a region, and credentials that sign as AKID. */
export const awsEnvironment = (region: string): Record<string, string> => ({
  AWS_REGION: region,
  AWS_ACCESS_KEY_ID: "AKID",
  AWS_SECRET_ACCESS_KEY: "secret",
});

/** Sets these variables in this process. Returns a function that removes them again. */
export function stubAws(region: string): () => void {
  for (const [name, value] of Object.entries(awsEnvironment(region))) vi.stubEnv(name, value);
  return () => void vi.unstubAllEnvs();
}
