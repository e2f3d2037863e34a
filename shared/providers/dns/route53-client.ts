import type { ListResourceRecordSetsRequest, ResourceRecordSet, Route53Client } from "@aws-sdk/client-route-53";

import { Problem } from "../../core/errors.ts";
import { mayPass } from "../aws-failure.ts";

/** The SDK is loaded by the first zone, as most functions never have one. */
const loadSdk = () => import("@aws-sdk/client-route-53");

/** A client of Route 53, and the commands it can send. */
export type Route53 = { client: Route53Client; sdk: Awaited<ReturnType<typeof loadSdk>> };

/** A client whose attempts, three for each call, end after `timeoutMs`. */
export async function connectRoute53(timeoutMs: number, endpoint?: string): Promise<Route53> {
  const sdk = await loadSdk();
  const client = new sdk.Route53Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 2_000,
      requestTimeout: timeoutMs,
      // For an answer that stops in the middle, which the above does not see.
      socketTimeout: timeoutMs,
      throwOnRequestTimeout: true,
    },
  });
  return { client, sdk };
}

/** What a caller is told when Route 53 cannot do it now. */
export const unavailable = (): Problem =>
  new Problem("upstream_unavailable", "The DNS service does not answer.", { retry_after: 5 });

/** What every answer of Route 53 has; throws 503 for an answer without it. */
export function told<T>(value: T | undefined): T {
  if (value === undefined) throw unavailable();
  return value;
}

/** Does the work; throws 503 when Route 53 cannot do it now, the error itself when it is our own mistake. */
export async function call<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw mayPass(error) ? unavailable() : error;
  }
}

/** The code of an error of Route 53's; it is `Unknown` when the SDK cannot read it. */
export const codeOf = (error: unknown): string | undefined => (error instanceof Error ? error.name : undefined);

/** So many RRsets are on one page at most. */
export const mostSets = 300;

type Start = Pick<
  ListResourceRecordSetsRequest,
  "StartRecordName" | "StartRecordType" | "StartRecordIdentifier" | "MaxItems"
>;

/** The RRsets of a zone from a place on, in Route 53's order, and where its next page begins, if there is one. */
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
  return { sets: told(ResourceRecordSets), next: told(answer.IsTruncated) ? next : undefined };
}
