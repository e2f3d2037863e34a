import { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { type CfnLogGroup, FilterPattern, type IFilterPattern, LogGroup, MetricFilter } from "aws-cdk-lib/aws-logs";
import type { Topic } from "aws-cdk-lib/aws-sns";
import type { Construct } from "constructs";

import { addAlarm, period } from "./alarms.ts";

/**
 * Adds a log group whose lines expire after a number of days that CloudWatch Logs offers. All functions share one group. The name of a stream begins with the name of its
 * function.
 */
export function addLogGroup(scope: Construct, id: string, retentionDays: number): LogGroup {
  const group = new LogGroup(scope, id, { removalPolicy: RemovalPolicy.RETAIN });
  (group.node.defaultChild as CfnLogGroup).retentionInDays = retentionDays;
  return group;
}

/** The metrics that are counted from the functions' log lines. */
export type LogMetrics = {
  errors: Metric;
  webhooksGivenUp: Metric;
  webhooksDue: Metric;
  ledgerViolations: Metric;
  billingFailed: Metric;
  billingBehind: Metric;
  closedAccountsPaid: Metric;
};

/** Matches the log lines of a worker, if the number in `member` is above 0. */
const swept = (member: string, worker = "retry_deliveries"): IFilterPattern =>
  FilterPattern.all(
    FilterPattern.stringValue("$.worker", "=", worker),
    FilterPattern.numberValue(`$.${member}`, ">", 0),
  );

const messageOf = (message: string): IFilterPattern => FilterPattern.stringValue("$.message", "=", message);

/**
 * Adds metrics of events that only the log shows. CloudWatch counts the log lines, so the metrics cost the functions no
 * time. Powertools' metrics would slow every cold start: docs/deploy.md has the figures.
 */
export function addLogMetrics(scope: Construct, logGroup: LogGroup, stage: string): LogMetrics {
  const count = (metricName: string, filterPattern: IFilterPattern, metricValue = "1"): Metric =>
    new MetricFilter(scope, `${metricName}Filter`, {
      logGroup,
      metricNamespace: `HostedMail/${stage}`,
      metricName,
      filterPattern,
      metricValue,
    }).metric({ statistic: metricName === "WebhooksDue" ? "Maximum" : "Sum", period });
  return {
    errors: count("LoggedErrors", FilterPattern.stringValue("$.level", "=", "error")),
    webhooksGivenUp: count("WebhooksGivenUp", swept("failed"), "$.failed"),
    webhooksDue: count("WebhooksDue", swept("due"), "$.due"),
    ledgerViolations: count("LedgerViolations", messageOf("ledger violation")),
    billingFailed: count("BillingFailed", swept("failed", "run_billing_day"), "$.failed"),
    billingBehind: count("BillingBehind", swept("behind", "run_billing_day"), "$.behind"),
    closedAccountsPaid: count("ClosedAccountsPaid", messageOf("a closed account was paid")),
  };
}

/** Counts the 503 answers to mail servers of a stage that has no secret of theirs. They mean no fault. */
export const addMailDoorsOff = (scope: Construct, logGroup: LogGroup, stage: string): Metric =>
  new MetricFilter(scope, "MailDoorsOffFilter", {
    logGroup,
    metricNamespace: `HostedMail/${stage}`,
    metricName: "MailDoorsOff",
    filterPattern: FilterPattern.all(
      FilterPattern.stringValue("$.route", "=", "mail.*"),
      FilterPattern.numberValue("$.status", "=", 503),
    ),
    metricValue: "1",
  }).metric({ statistic: "Sum", period });

/** The ledgers are checked every hour. An alarm goes off after this time without a check. */
const longestWithoutCheck = Duration.hours(3);

/** Adds the alarms on the log metrics, and an alarm that goes off if the ledgers are not checked. */
export function addLogAlarms(
  scope: Construct,
  {
    errors,
    webhooksGivenUp,
    webhooksDue,
    ledgerViolations,
    billingFailed,
    billingBehind,
    closedAccountsPaid,
  }: LogMetrics,
  checker: IFunction | undefined,
  topic?: Topic,
): void {
  addAlarm(scope, "LoggedErrors", "Functions log errors, and some work may not be done", errors, 10, topic);
  addAlarm(scope, "WebhooksGivenUp", "Webhook deliveries were given up after all attempts", webhooksGivenUp, 50, topic);
  addAlarm(scope, "WebhooksDue", "The number of waiting webhook deliveries grows", webhooksDue, 2_000, topic, {
    periods: 3,
  });
  addAlarm(scope, "LedgerViolations", "The ledger of an account has errors", ledgerViolations, 1, topic);
  addAlarm(scope, "BillingFailed", "The days of an account could not be closed", billingFailed, 1, topic);
  addAlarm(scope, "BillingBehind", "Billing is behind by more than a day", billingBehind, 1, topic);
  addAlarm(scope, "ClosedAccountsPaid", "Money arrived for a closed account", closedAccountsPaid, 1, topic);
  if (checker === undefined) return;
  const runs = checker.metricInvocations({ period: longestWithoutCheck, statistic: "Sum" });
  addAlarm(scope, "LedgersUnchecked", "The worker that checks the ledgers does not run", runs, 1, topic, {
    isBelow: true,
  });
}
