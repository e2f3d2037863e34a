import type { ListResourceRecordSetsRequest, ResourceRecordSet, Route53Client } from "@aws-sdk/client-route-53";

import { Problem } from "../../core/errors.ts";
import { isTransient } from "../aws-failure.ts";

/** Loads the SDK at the first call to Route 53, because most functions never call Route 53. */
const loadSdk = () => import("@aws-sdk/client-route-53");

/** A client of Route 53, and the commands it can send. */
export type Route53 = { client: Route53Client; sdk: Awaited<ReturnType<typeof loadSdk>> };

/** A client that makes up to three attempts per call; each attempt ends after `timeoutMs`. */
export async function connectRoute53(timeoutMs: number, endpoint?: string): Promise<Route53> {
  const sdk = await loadSdk();
  const client = new sdk.Route53Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 2_000,
      requestTimeout: timeoutMs,
      // Covers an answer that stops in the middle, which `requestTimeout` does not notice.
      socketTimeout: timeoutMs,
      throwOnRequestTimeout: true,
    },
  });
  return { client, sdk };
}

/** The problem for callers when Route 53 gives no usable answer at the moment. */
export const route53Unavailable = (): Problem =>
  new Problem("upstream_unavailable", "The DNS service does not answer.", { retry_after: 5 });

/** Returns a value that every answer of Route 53 has. Throws 503 when the value is missing. */
export function requireValue<T>(value: T | undefined): T {
  if (value === undefined) throw route53Unavailable();
  return value;
}

/** Runs the work. Throws 503 when Route 53 is unavailable, and otherwise the original error. */
export async function callRoute53<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isTransient(error) ? route53Unavailable() : error;
  }
}

/**
 * The code of a Route 53 error: `Unknown` when the SDK cannot read the error, undefined when `error` is not an Error.
 */
export const codeOf = (error: unknown): string | undefined => (error instanceof Error ? error.name : undefined);

/** The most RRsets on one page. */
export const mostSets = 300;

type Start = Pick<
  ListResourceRecordSetsRequest,
  "StartRecordName" | "StartRecordType" | "StartRecordIdentifier" | "MaxItems"
>;

/**
 * A page of a zone's RRsets from a given start, in Route 53's order, and the start of the next page if there is one.
 */
export async function listSets(
  { client, sdk }: Route53,
  zoneId: string,
  start: Start,
): Promise<{ sets: ResourceRecordSet[]; next: Start | undefined }> {
  const answer = await client.send(new sdk.ListResourceRecordSetsCommand({ HostedZoneId: zoneId, ...start }));
  const { NextRecordName, NextRecordType, NextRecordIdentifier, ResourceRecordSets } = answer;
  const next = {
    StartRecordName: NextRecordName,
    StartRecordType: NextRecordType,
    StartRecordIdentifier: NextRecordIdentifier,
    MaxItems: start.MaxItems,
  };
  return { sets: requireValue(ResourceRecordSets), next: requireValue(answer.IsTruncated) ? next : undefined };
}
