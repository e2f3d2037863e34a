/**
 * What AWS asks in us-east-1 on demand, in dollars, read on 2026-11-21 in our notes of these pages and not since:
 * aws.amazon.com/dynamodb/pricing/on-demand (rates of November 2024), /lambda/pricing, /api-gateway/pricing,
 * /cloudwatch/pricing, /eventbridge/pricing. The first tier of each, without free tiers.
 */
export const prices = {
  readOn: "2026-11-21",
  region: "us-east-1",
  readUnit: 0.125e-6,
  writeUnit: 0.625e-6,
  /** An HTTP API's call of up to 512 KB. */
  gatewayRequest: 1.0e-6,
  lambdaRequest: 0.2e-6,
  /** Of Arm functions. */
  lambdaGigabyteSecond: 0.0000133334,
  logGigabyte: 0.5,
  /** A custom event of up to 64 KB on the bus. */
  event: 1.0e-6,
} as const;

/** What cannot be measured without AWS, and is assumed of a warm request. */
export const assumptions = {
  memoryGigabytes: 0.5,
  /** What a request takes without its table calls, and what each call adds; calls at the same time count as one after another. */
  baseMs: 4,
  msPerTableCall: 4,
  /** One line for each request. */
  logBytes: 400,
} as const;

/** What one request of a route needs: DynamoDB units, round trips, and changes that are published as events. */
export type Cost = { reads: number; writes: number; calls: number; events: number };

/** Dollars of a million requests: the table's, and with everything that a request passes through. */
export function dollarsPerMillion({ reads, writes, calls, events }: Cost): { table: number; all: number } {
  const table = reads * prices.readUnit + writes * prices.writeUnit;
  const seconds = (assumptions.baseMs + assumptions.msPerTableCall * calls) / 1000;
  const lambda = prices.lambdaRequest + seconds * assumptions.memoryGigabytes * prices.lambdaGigabyteSecond;
  const logs = (assumptions.logBytes / 1e9) * prices.logGigabyte;
  const all = table + prices.gatewayRequest + lambda + logs + events * prices.event;
  return { table: table * 1e6, all: all * 1e6 };
}
