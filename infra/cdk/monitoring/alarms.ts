import { Duration, Stack } from "aws-cdk-lib";
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { Construct } from "constructs";

/** The span of time that one data point of an alarm covers. */
export const period = Duration.minutes(5);

/** When an alarm goes off. By default it goes off when one period reaches the threshold. */
type AlarmCondition = { periods?: number; isBelow?: boolean };

/** The gateway's API. `expectedErrors` counts the 5xx answers that mean no fault. */
type WatchedApi = { id: string; latencyAlarmMs: number; expectedErrors?: Metric | undefined };

const without = (all: Metric, some: Metric): MathExpression =>
  new MathExpression({ expression: "m0 - FILL(m1, 0)", usingMetrics: { m0: all, m1: some }, period });

/**
 * Adds the alarms of the gateway and the functions. A 5xx answer that a function returns is not a crash: only the
 * gateway's alarm counts it. CloudWatch bills each metric of an alarm, so one metric covers all functions. An alarm
 * goes off when:
 * - a function crashes, times out or is throttled even once in 5 minutes;
 * - the gateway answers 5xx five times;
 * - the gateway is slow for a quarter of an hour.
 */
export function addAlarms(scope: Construct, api: WatchedApi, topic?: Topic): void {
  const ms = api.latencyAlarmMs;
  const answered = gatewayMetric(api.id, "5xx", "Sum");
  const errors = api.expectedErrors === undefined ? answered : without(answered, api.expectedErrors);
  addAlarm(scope, "ServerErrors", "The gateway answers with 5xx errors", errors, 5, topic);
  const latency = gatewayMetric(api.id, "Latency", "p99");
  addAlarm(scope, "Latency", `One request in 100 takes ${ms} ms or more`, latency, ms, topic, { periods: 3 });
  addAlarm(scope, "Errors", "A function crashed or timed out", functionsMetric("Errors", "Sum"), 1, topic);
  addAlarm(scope, "Throttles", "Calls of functions are throttled", functionsMetric("Throttles", "Sum"), 1, topic);
}

/** A Lambda metric of all functions of this AWS account and region, because Lambda's limits apply to them together. */
export const functionsMetric = (metricName: string, statistic: string): Metric =>
  new Metric({ namespace: "AWS/Lambda", metricName, statistic, period });

/** An API Gateway metric of an HTTP API. */
export const gatewayMetric = (apiId: string, metricName: string, statistic: string): Metric =>
  new Metric({ namespace: "AWS/ApiGateway", metricName, dimensionsMap: { ApiId: apiId }, statistic, period });

/** The sum of up to ten metrics. */
export function sum(metrics: readonly IMetric[]): MathExpression {
  const byId = Object.fromEntries(metrics.map((metric, index) => [`m${index}`, metric]));
  return new MathExpression({ expression: `SUM([${Object.keys(byId).join(", ")}])`, usingMetrics: byId, period });
}

/**
 * Adds an alarm `<stack>.<id>`, which notifies the topic if there is one.
 * - The alarm goes off when the metric reaches the threshold in `periods` periods in a row. A period without data does
 *   not count.
 * - With `isBelow` the alarm goes off when the metric is below the threshold in these periods. A period without data
 *   counts as below.
 */
export function addAlarm(
  scope: Construct,
  id: string,
  alarmDescription: string,
  metric: IMetric,
  threshold: number,
  topic: Topic | undefined,
  { periods = 1, isBelow = false }: AlarmCondition = {},
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

/** Adds a topic that mails the alarms of this AWS account. The recipient has to confirm the subscription once. */
export function addAlarmTopic(scope: Construct, email: string): Topic {
  const topic = new Topic(scope, "AlarmTopic", { enforceSSL: true });
  topic.addSubscription(new EmailSubscription(email));
  topic.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
      actions: ["sns:Publish"],
      resources: [topic.topicArn],
      conditions: { StringEquals: { "aws:SourceAccount": Stack.of(scope).account } },
    }),
  );
  return topic;
}
