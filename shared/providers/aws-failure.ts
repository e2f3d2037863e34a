import * as z from "zod";

const throttles = new Set([
  "ThrottlingException",
  "Throttling",
  "LimitExceededException",
  "RequestLimitExceeded",
  "PriorRequestNotComplete",
]);
const silences = new Set(["TimeoutError", "AbortError"]);

/** An SDK error: with the status of the answer, or with a system's code where there was none. */
const Failure = z.object({
  name: z.string(),
  code: z.string().optional().catch(undefined),
  $metadata: z.object({ httpStatusCode: z.number().optional() }).optional().catch(undefined),
});

/** Whether what the AWS SDK threw may pass by itself: silence, a throttle, a 5xx, a garbled answer; not a mistake of ours. */
export function mayPass(error: unknown): boolean {
  const { data } = Failure.safeParse(error);
  if (!data) return false;
  const status = data.$metadata?.httpStatusCode;
  const unanswered = status === undefined && (silences.has(data.name) || data.code !== undefined);
  // The SDK throws at a good status when it cannot read the answer.
  const garbled = status !== undefined && status < 300;
  return unanswered || garbled || throttles.has(data.name) || (status ?? 0) >= 500;
}
