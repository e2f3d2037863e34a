import { Duration } from "aws-cdk-lib";
import { type IMetric, MathExpression, Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import type { IFunction } from "aws-cdk-lib/aws-lambda";

/** The span of time that one data point covers, unless an alarm sets another. */
export const period = Duration.minutes(5);

/** The metrics of a worker's failed calls: its dead letters, and the calls that EventBridge could not make. */
export type WorkerFailures = { worker: string; deadLetters: Metric; notCalled?: Metric };

/**
 * A Lambda metric of all functions in this AWS account and region together. Lambda's limits apply to all of them
 * together.
 */
export const functionsMetric = (metricName: string, statistic: string): Metric =>
  new Metric({ namespace: "AWS/Lambda", metricName, statistic, period });

/** An API Gateway metric of an HTTP API. */
export const gatewayMetric = (apiId: string, metricName: string, statistic: string): Metric =>
  new Metric({ namespace: "AWS/ApiGateway", metricName, dimensionsMap: { ApiId: apiId }, statistic, period });

/** A DynamoDB metric of the table. */
export const tableMetric = ({ tableName }: Table, metricName: string): Metric =>
  new Metric({
    namespace: "AWS/DynamoDB",
    metricName,
    dimensionsMap: { TableName: tableName },
    statistic: "Sum",
    period,
  });

/** The sum of at most ten metrics. A metric without data counts as 0. A single metric is returned unchanged. */
export function sum(metrics: readonly IMetric[]): IMetric {
  const [first] = metrics;
  if (first !== undefined && metrics.length === 1) return first;
  const byId = Object.fromEntries(metrics.map((metric, index) => [`m${index}`, metric]));
  const filled = Object.keys(byId).map((id) => `FILL(${id}, 0)`);
  return new MathExpression({ expression: `SUM([${filled.join(", ")}])`, usingMetrics: byId, period });
}

/** The first metric minus the second, such as all 5xx answers minus the expected 5xx answers. */
export const without = (all: IMetric, expected: IMetric): MathExpression =>
  new MathExpression({ expression: "answered - FILL(expected, 0)", usingMetrics: { answered: all, expected }, period });

/**
 * The share of some events in all events, in percent. The share counts as 0 in a period with fewer than `fewest` of the
 * events `some`.
 */
export const percentOf = (some: IMetric, every: IMetric, fewest: number): MathExpression =>
  new MathExpression({
    expression: `IF(FILL(some, 0) < ${fewest}, 0, 100 * FILL(some, 0) / every)`,
    usingMetrics: { some, every },
    period,
  });

/** How long the oldest change waits to be published, in milliseconds. */
export const iteratorAge = (publisher: IFunction): Metric =>
  publisher.metric("IteratorAge", { period, statistic: "Maximum", label: "oldest change, ms" });
