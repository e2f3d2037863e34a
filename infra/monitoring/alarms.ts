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

/** What alarms look at, at a time. */
export const period = Duration.minutes(5);

/** When an alarm goes off, if not as soon as one period reaches the threshold. */
type When = { periods?: number; isBelow?: boolean };

/**
 * Alarms when a function crashes, times out or is throttled even once in 5 minutes, when the gateway answers 5xx five
 * times, and when it is slow for a quarter of an hour. A function's own 5xx answers are not crashes; only the gateway's
 * alarm sees them. CloudWatch bills each metric that an alarm looks at, so functions are watched all together.
 */
export function addAlarms(scope: Construct, api: { id: string; latencyAlarmMs: number }, topic?: Topic): void {
  const ms = api.latencyAlarmMs;
  addAlarm(scope, "ServerErrors", "The gateway answers 5xx", gatewayMetric(api.id, "5xx", "Sum"), 5, topic);
  const latency = gatewayMetric(api.id, "Latency", "p99");
  addAlarm(scope, "Latency", `One request of 100 takes ${ms} ms or more`, latency, ms, topic, { periods: 3 });
  addAlarm(scope, "Errors", "A function crashed or timed out", functionsMetric("Errors", "Sum"), 1, topic);
  addAlarm(scope, "Throttles", "Calls of functions are throttled", functionsMetric("Throttles", "Sum"), 1, topic);
}

/** What Lambda counts of all functions of this AWS account and region: their limits are the account's, too. */
export const functionsMetric = (metricName: string, statistic: string): Metric =>
  new Metric({ namespace: "AWS/Lambda", metricName, statistic, period });

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

/** Mails what alarms of this AWS account publish, over TLS only. The addressee confirms the subscription once. */
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
