import { RemovalPolicy } from "aws-cdk-lib";
import type { Metric } from "aws-cdk-lib/aws-cloudwatch";
import {
  type CfnLogGroup,
  FilterPattern,
  type IFilterPattern,
  type JsonPattern,
  LogGroup,
  MetricFilter,
} from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

import { period } from "./metrics.ts";

/**
 * Adds a log group whose lines expire after `retentionDays` days. CloudWatch Logs offers only certain numbers of days.
 * All functions share one log group. There, the name of a log stream contains the name of the stream's function.
 */
export function addLogGroup(scope: Construct, id: string, retentionDays: number): LogGroup {
  const group = new LogGroup(scope, id, { removalPolicy: RemovalPolicy.RETAIN });
  (group.node.defaultChild as CfnLogGroup).retentionInDays = retentionDays;
  return group;
}

/** The metrics that CloudWatch counts from log lines: the lines of the functions and of the gateway's access log. */
export type LogMetrics = {
  errors: Metric;
  webhooksGivenUp: Metric;
  webhooksDue: Metric;
  ledgerViolations: Metric;
  billingFailed: Metric;
  billingBehind: Metric;
  closedAccountsPaid: Metric;
  /** The time from a change to the end of the first attempts to deliver its event, in milliseconds. */
  webhookDelay: Metric;
  mailRequests: Metric;
  mailErrors: Metric;
  /** The requests to mail endpoints without a valid key of mail servers. */
  mailRefusals: Metric;
  /** The duration of a mail server's request in its function, in milliseconds. */
  mailLatency: Metric;
};

/** Matches the log lines of a worker in which the number `member` is above 0. */
const aboveZero = (member: string, worker = "retry_deliveries"): IFilterPattern =>
  FilterPattern.all(
    FilterPattern.stringValue("$.worker", "=", worker),
    FilterPattern.numberValue(`$.${member}`, ">", 0),
  );

/**
 * Matches the log lines in which the value of `member` is `text`. The text can begin or end with `*`, for any
 * characters.
 */
const equal = (member: string, text: string): JsonPattern => FilterPattern.stringValue(`$.${member}`, "=", text);

/**
 * Adds metrics of events that only the log shows. CloudWatch counts the log lines, so the metrics cost the functions no
 * time. Powertools' metrics would slow every cold start: docs/deploy.md has the figures. In the names of metrics and
 * symptoms, `MailDoor` means a mail endpoint.
 */
export function addLogMetrics(
  scope: Construct,
  { functions, access }: { functions: LogGroup; access: LogGroup },
  stage: string,
): LogMetrics {
  // Each run of `retry_deliveries` that finds due deliveries logs their number, at most 200 of each webhook. A delivery
  // that stays due is in the numbers of several runs. So `WebhooksDue` is the maximum of these numbers, not their sum.
  const count = (metricName: string, filterPattern: IFilterPattern, metricValue = "1", logGroup = functions): Metric =>
    new MetricFilter(scope, `${metricName}Filter`, {
      logGroup,
      metricNamespace: `HostedMail/${stage}`,
      metricName,
      filterPattern,
      metricValue,
    }).metric({ statistic: metricName === "WebhooksDue" ? "Maximum" : "Sum", period });
  const atMailEndpoints = equal("route", "* /internal/mail/*");
  // The 5xx are counted in the gateway's log, because a function that crashes does not log its request. The gateway
  // logs a status as a string, so the pattern `5*` can match it.
  const failedAtMailEndpoints = FilterPattern.all(atMailEndpoints, equal("status", "5*"));
  const refusedByMailEndpoints = FilterPattern.all(atMailEndpoints, equal("status", "401"));
  const answeredByMailEndpoints = FilterPattern.all(equal("message", "request"), equal("path", "/internal/mail/*"));
  const dispatched = FilterPattern.all(
    equal("worker", "dispatch_event"),
    FilterPattern.numberValue("$.delay_ms", ">=", 0),
  );
  return {
    errors: count("LoggedErrors", FilterPattern.stringValue("$.level", "=", "error")),
    webhooksGivenUp: count("WebhooksGivenUp", aboveZero("failed"), "$.failed"),
    webhooksDue: count("WebhooksDue", aboveZero("due"), "$.due"),
    ledgerViolations: count("LedgerViolations", FilterPattern.stringValue("$.message", "=", "ledger violation")),
    billingFailed: count("BillingFailed", equal("message", "billing day failed")),
    billingBehind: count("BillingBehind", aboveZero("behind", "run_billing_day"), "$.behind"),
    closedAccountsPaid: count("ClosedAccountsPaid", equal("message", "a closed account was paid")),
    webhookDelay: count("WebhookDelay", dispatched, "$.delay_ms"),
    mailRequests: count("MailDoorRequests", atMailEndpoints, "1", access),
    mailErrors: count("MailDoorErrors", failedAtMailEndpoints, "1", access),
    mailRefusals: count("MailDoorRefusals", refusedByMailEndpoints, "1", access),
    mailLatency: count("MailDoorLatency", answeredByMailEndpoints, "$.duration_ms"),
  };
}
