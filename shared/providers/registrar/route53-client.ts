import type { Route53DomainsClient } from "@aws-sdk/client-route-53-domains";

import { Problem } from "../../core/errors.ts";
import { isTransient } from "../aws-failure.ts";

/** Loads the SDK at the first call to the registrar, because most functions never call the registrar. */
const loadSdk = () => import("@aws-sdk/client-route-53-domains");

/** The clients of Route 53 Domains. */
export type Domains = {
  /** Sends a request up to three times. */
  client: Route53DomainsClient;
  /** Sends a request only once. */
  once: Route53DomainsClient;
  /** The commands of both clients. */
  sdk: Awaited<ReturnType<typeof loadSdk>>;
};

/** Clients whose attempts end after `timeoutMs`. */
export async function connectDomains(timeoutMs: number, endpoint?: string): Promise<Domains> {
  const sdk = await loadSdk();
  const config = {
    ...(endpoint === undefined ? {} : { endpoint }),
    // Route 53 Domains exists in this region only.
    region: "us-east-1",
    requestHandler: {
      connectionTimeout: 2_000,
      requestTimeout: timeoutMs,
      // Covers an answer that stops in the middle, which `requestTimeout` does not notice.
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

/** The problem for callers when the registrar gives no usable answer at the moment. */
export const registrarUnavailable = (): Problem =>
  new Problem("upstream_unavailable", "The registrar does not answer.", { retry_after: 10 });

/** Returns a value that every answer has. Throws 503 when the value is missing. */
export function requireValue<T>(value: T | undefined): T {
  if (value === undefined) throw registrarUnavailable();
  return value;
}

/**
 * Returns a list that every answer has. Throws 503 if the value is no list. This check is needed, because the SDK does
 * not check the lists in the JSON that Route 53 Domains answers.
 */
export function requireList<T>(value: T[] | undefined): T[] {
  if (!Array.isArray(value)) throw registrarUnavailable();
  return value;
}

/**
 * Errors that pass once the registrar is less busy, its registry is back, or another change of the same name is done.
 */
const passingErrors = new Set(["OperationLimitExceeded", "TLDInMaintenance", "DuplicateRequest"]);

/** The code of a Route 53 error; empty when `error` is not an Error. */
export const codeOf = (error: unknown): string => (error instanceof Error ? error.name : "");

/** Runs the work. Throws 503 when the registrar is unavailable, and otherwise the original error. */
export async function callRegistrar<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isTransient(error) || passingErrors.has(codeOf(error)) ? registrarUnavailable() : error;
  }
}

const longestReason = 200;

/**
 * A message of Route 53 as a text for people, of at most 200 characters. Leaves out the number of our AWS account,
 * which the message may contain.
 */
export function sentenceOf(message: string): string {
  const plain = message
    .replace(/\p{C}+/gu, " ")
    .replace(/\b\d{12}\b/g, "…")
    .trim();
  return plain.length > longestReason ? `${plain.slice(0, longestReason - 1)}…` : plain;
}
