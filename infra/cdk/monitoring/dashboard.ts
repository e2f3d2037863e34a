import { Stack } from "aws-cdk-lib";
import {
  Dashboard,
  GraphWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
  Metric,
  SingleValueWidget,
  type IMetric,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import { Queue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

import { functionsMetric, gatewayMetric, period } from "./alarms.ts";
import type { LogMetrics } from "./logs.ts";

type DashboardSources = {
  stage: string;
  apiId: string;
  table: Table;
  logGroup: LogGroup;
  logMetrics: LogMetrics;
  /** The function that publishes the changes in the table's stream. */
  publisher: IFunction | undefined;
};

const [width, height] = [8, 6];

const graph = (title: string, left: IMetric[], right: IMetric[] = []): GraphWidget =>
  new GraphWidget({ title, left, right, width, height });

/** Adds the dashboard of a stage: requests, functions, the table, postponed work and the ledger. */
export function addDashboard(scope: Construct, sources: DashboardSources): void {
  const { stage, apiId, table, logGroup, logMetrics, publisher } = sources;
  const dashboard = new Dashboard(scope, "Dashboard", { dashboardName: `hosted-mail-${stage}` });
  const gateway = (name: string, statistic: string) => gatewayMetric(apiId, name, statistic);
  const percentiles = ["p50", "p90", "p99"].map((one) => gateway("Latency", one));
  dashboard.addWidgets(
    graph("Requests", [gateway("Count", "Sum"), gateway("4xx", "Sum")], [gateway("5xx", "Sum")]),
    graph("Latency, ms", percentiles),
    graph(
      "Functions: calls",
      [functionsMetric("Invocations", "Sum")],
      [functionsMetric("Errors", "Sum"), functionsMetric("Throttles", "Sum")],
    ),
    graph("Functions: concurrent calls", [functionsMetric("ConcurrentExecutions", "Maximum")]),
    graph("Table, units", [
      tableMetric(table, "ConsumedReadCapacityUnits"),
      tableMetric(table, "ConsumedWriteCapacityUnits"),
    ]),
    graph("Table, throttled", [tableMetric(table, "ReadThrottleEvents"), tableMetric(table, "WriteThrottleEvents")]),
    graph(
      "Age of the changes to publish, ms",
      publisher ? [publisher.metric("IteratorAge", { statistic: "Maximum", period })] : [],
    ),
    graph("Dead letters", deadLetters(scope)),
    graph("Webhooks", [logMetrics.webhooksDue], [logMetrics.webhooksGivenUp]),
    graph("Billing", [logMetrics.billingFailed, logMetrics.billingBehind, logMetrics.closedAccountsPaid]),
    graph("Errors in the log", [logMetrics.errors]),
    new SingleValueWidget({ title: "Ledger violations", metrics: [logMetrics.ledgerViolations], width, height }),
    routesWidget(logGroup),
    crashesWidget(logGroup),
  );
}

const deadLetters = (scope: Construct): IMetric[] =>
  Stack.of(scope)
    .node.findAll()
    .filter((construct) => construct instanceof Queue)
    .map((queue) => {
      const label = queue.node.id.replace(/\.dead_letters$/, "");
      return queue.metricApproximateNumberOfMessagesVisible({ statistic: "Maximum", period, label });
    });

/** A DynamoDB metric of the table. */
export const tableMetric = ({ tableName }: Table, metricName: string): Metric =>
  new Metric({
    namespace: "AWS/DynamoDB",
    metricName,
    dimensionsMap: { TableName: tableName },
    statistic: "Sum",
    period,
  });

const logTable = (logGroup: LogGroup, title: string, queryLines: string[]): LogQueryWidget =>
  new LogQueryWidget({
    title,
    logGroupNames: [logGroup.logGroupName],
    view: LogQueryVisualizationType.TABLE,
    width: 24,
    height,
    queryLines,
  });

const routesWidget = (logGroup: LogGroup): LogQueryWidget =>
  logTable(logGroup, "Routes, slowest first", [
    'filter message = "request"',
    "stats count(*) as requests, pct(duration_ms, 99) as p99_ms, avg(read_units) as reads, avg(write_units) as writes by route",
    "sort p99_ms desc",
    "limit 30",
  ]);

/**
 * Lists the functions that caused the alarm `Errors`. Reads the lines at level WARN that Lambda logs for a crash or a
 * time-out.
 */
const crashesWidget = (logGroup: LogGroup): LogQueryWidget =>
  logTable(logGroup, "Crashes and time-outs, by function", [
    'filter type in ["platform.runtimeDone", "platform.initRuntimeDone"] and record.status != "success"',
    "parse @logStream /(?<lambda>[^\\/]+)\\[/",
    "stats count(*) as calls, latest(@timestamp) as last by lambda, record.status",
    "sort calls desc",
  ]);
