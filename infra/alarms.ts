import { Duration } from "aws-cdk-lib";
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

/** CloudWatch allows an alarm ten metrics. Fewer alarms also leave the stack's 500 resources to functions. */
const functionsPerAlarm = 10;

/**
 * Alarms when a function crashes, times out or is throttled even once in 5 minutes, and when the gateway answers
 * 5xx five times. A function's own 5xx answers are not crashes; only the gateway's alarm sees them.
 */
export function addAlarms(
  scope: Construct,
  functions: ReadonlyMap<string, IFunction>,
  apiId: string,
  topic?: Topic,
): void {
  const serverErrors = new Metric({
    namespace: "AWS/ApiGateway",
    metricName: "5xx",
    dimensionsMap: { ApiId: apiId },
    statistic: "Sum",
    period,
  });
  addAlarm(scope, "ServerErrors", "The gateway answers 5xx", serverErrors, 5, topic);
  for (const [index, group] of inGroupsOf(functionsPerAlarm, [...functions]).entries()) {
    const names = group.map(([name]) => name).join(", ");
    const errors = group.map(([, target]) => target.metricErrors({ period }));
    const throttles = group.map(([, target]) => target.metricThrottles({ period }));
    addAlarm(scope, `Errors${index + 1}`, `Crash or time-out in one of ${names}`, sum(errors), 1, topic);
    addAlarm(scope, `Throttles${index + 1}`, `Throttled: one of ${names}`, sum(throttles), 1, topic);
  }
}

function sum(metrics: readonly IMetric[]): MathExpression {
  const byId = Object.fromEntries(metrics.map((metric, index) => [`m${index}`, metric]));
  return new MathExpression({ expression: `SUM([${Object.keys(byId).join(", ")}])`, usingMetrics: byId, period });
}

/** An alarm when the metric reaches the threshold in one period; it speaks to the topic if there is one. */
export function addAlarm(
  scope: Construct,
  id: string,
  alarmDescription: string,
  metric: IMetric,
  threshold: number,
  topic: Topic | undefined,
): void {
  const alarm = new Alarm(scope, id, {
    alarmDescription,
    metric,
    threshold,
    evaluationPeriods: 1,
    comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    treatMissingData: TreatMissingData.NOT_BREACHING,
  });
  if (topic) alarm.addAlarmAction(new SnsAction(topic));
}
