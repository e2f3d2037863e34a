import type { Route53DomainsClient } from "@aws-sdk/client-route-53-domains";

import { Problem } from "../../core/errors.ts";
import { mayPass } from "../aws-failure.ts";

/** The SDK is loaded by the first name, as most functions never have one. */
const loadSdk = () => import("@aws-sdk/client-route-53-domains");

/** A client of Route 53 Domains, one that sends everything once, and the commands they can send. */
export type Domains = {
  client: Route53DomainsClient;
  once: Route53DomainsClient;
  sdk: Awaited<ReturnType<typeof loadSdk>>;
};

/** Clients whose attempts end after `timeoutMs`. */
export async function connectDomains(timeoutMs: number, endpoint?: string): Promise<Domains> {
  const sdk = await loadSdk();
  const config = {
    ...(endpoint === undefined ? {} : { endpoint }),
    // Wherever else the rest of this service is.
    region: "us-east-1",
    requestHandler: {
      connectionTimeout: 2_000,
      requestTimeout: timeoutMs,
      // For an answer that stops in the middle, which the above does not see.
      socketTimeout: timeoutMs,
      throwOnRequestTimeout: true,
    },
  };
  return {
    sdk,
    client: new sdk.Route53DomainsClient({ ...config, maxAttempts: 3 }),
    once: new sdk.Route53DomainsClient({ ...config, maxAttempts: 1 }),
  };
}

/** What a caller is told when the registrar cannot do it now, or cannot tell. */
export const unavailable = (): Problem =>
  new Problem("upstream_unavailable", "The registrar does not answer.", { retry_after: 10 });

/** What every answer has; throws 503 for an answer without it. */
export function told<T>(value: T | undefined): T {
  if (value === undefined) throw unavailable();
  return value;
}

/** The list that every answer has, for a protocol whose lists the SDK takes as they come. */
export function listed<T>(value: T[] | undefined): T[] {
  if (!Array.isArray(value)) throw unavailable();
  return value;
}

/** What passes when the registrar is less busy, its registry is back, or another change of the same name is done. */
const passing = new Set(["OperationLimitExceeded", "TLDInMaintenance", "DuplicateRequest"]);

/** The code of an error of Route 53's. */
export const codeOf = (error: unknown): string => (error instanceof Error ? error.name : "");

/** Does the work; throws 503 when it cannot be done now, the error itself when it is our own mistake. */
export async function call<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw mayPass(error) || passing.has(codeOf(error)) ? unavailable() : error;
  }
}
