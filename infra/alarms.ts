import { Duration, Stack } from "aws-cdk-lib";
import {
  Alarm,
  ComparisonOperator,
  MathExpression,
  Metric,
  TreatMissingData,
  type IMetric,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { Topic } from "aws-cdk-lib/aws-sns";
import type { Construct } from "constructs";

import { inGroupsOf } from "./groups.ts";

/** What alarms look at, at a time. */
export const period = Duration.minutes(5);

/** When an alarm goes off, if not as soon as one period reaches the threshold. */
type When = { periods?: number; isBelow?: boolean };

/** CloudWatch allows an alarm ten metrics. Fewer alarms also leave the stack's 500 resources to functions. */
const functionsPerAlarm = 10;

/**
 * Alarms when a function crashes, times out or is throttled even once in 5 minutes, when the gateway answers 5xx five
 * times, and when it is slow for a quarter of an hour. A function's own 5xx answers are not crashes; only the gateway's
 * alarm sees them.
 */
export function addAlarms(
  scope: Construct,
  functions: ReadonlyMap<string, IFunction>,
  api: { id: string; latencyAlarmMs: number },
  topic?: Topic,
): void {
  const ms = api.latencyAlarmMs;
  addAlarm(scope, "ServerErrors", "The gateway answers 5xx", gatewayMetric(api.id, "5xx", "Sum"), 5, topic);
  const latency = gatewayMetric(api.id, "Latency", "p99");
  addAlarm(scope, "Latency", `One request of 100 takes ${ms} ms or more`, latency, ms, topic, { periods: 3 });
  for (const [index, group] of inGroupsOf(functionsPerAlarm, [...functions]).entries()) {
    const names = group.map(([name]) => name).join(", ");
    const errors = group.map(([, target]) => target.metricErrors({ period }));
    const throttles = group.map(([, target]) => target.metricThrottles({ period }));
    addAlarm(scope, `Errors${index + 1}`, `Crash or time-out in one of ${names}`, sum(errors), 1, topic);
    addAlarm(scope, `Throttles${index + 1}`, `Throttled: one of ${names}`, sum(throttles), 1, topic);
  }
}

/** What API Gateway counts of an HTTP API. */
export const gatewayMetric = (apiId: string, metricName: string, statistic: string): Metric =>
  new Metric({ namespace: "AWS/ApiGateway", metricName, dimensionsMap: { ApiId: apiId }, statistic, period });

/** The sum of up to ten metrics. */
export function sum(metrics: readonly IMetric[]): MathExpression {
  const byId = Object.fromEntries(metrics.map((metric, index) => [`m${index}`, metric]));
  return new MathExpression({ expression: `SUM([${Object.keys(byId).join(", ")}])`, usingMetrics: byId, period });
}

/**
 * An alarm `<stack>.<id>` when the metric reaches the threshold in one period, or is below it in several; without any data only the
 * latter is an alarm. It speaks to the topic if there is one.
 */
export function addAlarm(
  scope: Construct,
  id: string,
  alarmDescription: string,
  metric: IMetric,
  threshold: number,
  topic: Topic | undefined,
  { periods = 1, isBelow = false }: When = {},
): void {
  const alarm = new Alarm(scope, id, {
    alarmName: `${Stack.of(scope).stackName}.${id}`,
    alarmDescription,
    metric,
    threshold,
    evaluationPeriods: periods,
    comparisonOperator: isBelow
      ? ComparisonOperator.LESS_THAN_THRESHOLD
      : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    treatMissingData: isBelow ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
  });
  if (topic) alarm.addAlarmAction(new SnsAction(topic));
}
