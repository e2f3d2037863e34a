import * as z from "zod";

const throttles = new Set([
  "ThrottlingException",
  "Throttling",
  "LimitExceededException",
  "RequestLimitExceeded",
  "PriorRequestNotComplete",
]);
const silences = new Set(["TimeoutError", "AbortError"]);

/** An error of the AWS SDK: it has the HTTP status of the answer, or a system error code when there was no answer. */
const AwsFailure = z.object({
  name: z.string(),
  code: z.string().optional().catch(undefined),
  $metadata: z.object({ httpStatusCode: z.number().optional() }).optional().catch(undefined),
});

/**
 * Whether an error of the AWS SDK can pass by itself: no answer, a throttle, a 5xx or an unreadable answer. Any other
 * error comes from our request or our configuration, and would come again.
 */
export function isTransient(error: unknown): boolean {
  const { data } = AwsFailure.safeParse(error);
  if (!data) return false;
  const status = data.$metadata?.httpStatusCode;
  const unanswered = status === undefined && (silences.has(data.name) || data.code !== undefined);
  // The SDK throws even at a success status when it cannot read the answer.
  const garbled = status !== undefined && status < 300;
  return unanswered || garbled || throttles.has(data.name) || (status ?? 0) >= 500;
}
