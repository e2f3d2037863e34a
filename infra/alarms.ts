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

const period = Duration.minutes(5);

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
  const alarms = [
    addAlarm(scope, "ServerErrors", "The gateway answers 5xx", serverErrors, 5),
    ...inGroupsOf(functionsPerAlarm, [...functions]).flatMap((group, index) => {
      const names = group.map(([name]) => name).join(", ");
      const errors = group.map(([, target]) => target.metricErrors({ period }));
      const throttles = group.map(([, target]) => target.metricThrottles({ period }));
      return [
        addAlarm(scope, `Errors${index + 1}`, `Crash or time-out in one of ${names}`, sum(errors), 1),
        addAlarm(scope, `Throttles${index + 1}`, `Throttled: one of ${names}`, sum(throttles), 1),
      ];
    }),
  ];
  if (topic) for (const alarm of alarms) alarm.addAlarmAction(new SnsAction(topic));
}

function sum(metrics: readonly IMetric[]): MathExpression {
  const byId = Object.fromEntries(metrics.map((metric, index) => [`m${index}`, metric]));
  return new MathExpression({ expression: `SUM([${Object.keys(byId).join(", ")}])`, usingMetrics: byId, period });
}

const addAlarm = (scope: Construct, id: string, alarmDescription: string, metric: IMetric, threshold: number): Alarm =>
  new Alarm(scope, id, {
    alarmDescription,
    metric,
    threshold,
    evaluationPeriods: 1,
    comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    treatMissingData: TreatMissingData.NOT_BREACHING,
  });
