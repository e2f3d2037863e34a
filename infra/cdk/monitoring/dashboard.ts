import { Duration } from "aws-cdk-lib";
import {
  AlarmStatusWidget,
  Color,
  Dashboard,
  GraphWidget,
  type HorizontalAnnotation,
  type IAlarm,
  type IMetric,
  type IWidget,
  LegendPosition,
  type Metric,
  LogQueryVisualizationType,
  LogQueryWidget,
  SingleValueWidget,
  TextWidget,
} from "aws-cdk-lib/aws-cloudwatch";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

import { type Alarms, countedSlos, type Watched } from "./alarms.ts";
import { functionsMetric, gatewayMetric, iteratorAge, tableMetric } from "./metrics.ts";
import { type Counted, type Slo, burnRate, goodPercent, slos } from "./slos.ts";

type DashboardSources = Watched & { stage: string; alarms: Alarms; logGroup: LogGroup };

const wholeWidth = 24;
const height = 6;

/**
 * Adds the dashboard of a stage. From top to bottom it shows whether customers are served, then the symptoms, then the
 * causes. The SLOs show the time range that the reader chooses.
 */
export function addDashboard(scope: Construct, sources: DashboardSources): void {
  const { stage, alarms, logGroup } = sources;
  const counted = countedSlos(sources);
  const dashboard = new Dashboard(scope, "Dashboard", {
    dashboardName: `hosted-mail-${stage}`,
    defaultInterval: Duration.hours(6),
  });
  const rows = [
    [heading("Are customers served? Each alarm's description names its runbook in docs/operations.md.")],
    [status("Pages", [...alarms.pages.values()], 2)],
    inRow(counted.map(({ slo, counted: metrics }) => goodWidget(slo, metrics))),
    [heading("Symptoms. At a burn rate of 1 the error budget of 30 days lasts 30 days.")],
    ...symptomRows(sources, counted),
    [heading("Causes: functions, the table, workers, and their log.")],
    [status("Tickets", alarms.tickets, 4)],
    ...causeRows(sources),
    [routesWidget(logGroup)],
    [crashesWidget(logGroup)],
  ];
  for (const row of rows) dashboard.addWidgets(...row);
}

const heading = (text: string): IWidget => new TextWidget({ markdown: `### ${text}`, width: wholeWidth, height: 1 });

const status = (title: string, alarms: IAlarm[], rows: number): IWidget =>
  new AlarmStatusWidget({ title, alarms, width: wholeWidth, height: rows });

type Shape = { width: number };
type Draw = (shape: Shape) => IWidget;

/** Draws widgets that fill a row. If the row's width cannot be divided evenly, the last widgets are one unit wider. */
function inRow(draws: readonly Draw[]): IWidget[] {
  const width = Math.floor(wholeWidth / draws.length);
  const rest = wholeWidth - width * draws.length;
  return draws.map((draw, index) => draw({ width: width + (index >= draws.length - rest ? 1 : 0) }));
}

const goodWidget =
  (slo: Slo, counted: Counted): Draw =>
  (shape) =>
    new SingleValueWidget({
      title: `${slo.promise} (goal: ${slo.goalPercent} %)`,
      metrics: [goodPercent(slo, counted)],
      setPeriodToTimeRange: true,
      height: 3,
      ...shape,
    });

type Graph = {
  title: string;
  left: IMetric[];
  right?: IMetric[];
  limit?: { value: number; label: string };
  hasLongLegend?: boolean;
};

const graph =
  ({ title, left, right = [], limit, hasLongLegend = false }: Graph): Draw =>
  (shape) => {
    const line: HorizontalAnnotation[] = limit === undefined ? [] : [{ ...limit, color: Color.RED }];
    return new GraphWidget({
      title,
      left,
      right,
      leftAnnotations: line,
      // A legend with a line for each worker does not fit below the graph.
      ...(hasLongLegend ? { stacked: true, legendPosition: LegendPosition.RIGHT } : {}),
      leftYAxis: { min: 0 },
      rightYAxis: { min: 0 },
      height,
      ...shape,
    });
  };

/** The graphs of the symptoms, three in a row. */
function symptomRows(watched: Watched, counted: ReturnType<typeof countedSlos>): IWidget[][] {
  const burns = counted.map(({ slo, counted: metrics }) => burnRate(slo, metrics));
  const budgets = { title: "Error budgets: burn rate of an hour", left: burns, limit: { value: 14.4, label: "pages" } };
  return [
    inRow([graph(budgets), ...apiGraphs(watched)]),
    inRow([...mailGraphs(watched), ageGraph(watched)]),
    inRow([...webhookGraphs(watched), moneyGraph(watched)]),
  ];
}

const percentiles = (metric: Metric): Metric[] =>
  ["p50", "p90", "p99"].map((statistic) => metric.with({ statistic, label: statistic }));

function apiGraphs({ apiId, latencyAlarmMs }: Watched): Draw[] {
  const gateway = (name: string, label = name) => gatewayMetric(apiId, name, "Sum").with({ label });
  return [
    graph({
      title: "API: requests, and errors on the right",
      left: [gateway("Count", "requests"), gateway("4xx")],
      right: [gateway("5xx").with({ color: Color.RED })],
    }),
    graph({
      title: "API: latency, ms",
      left: percentiles(gatewayMetric(apiId, "Latency", "p99")),
      limit: { value: latencyAlarmMs, label: "SLO of p99" },
    }),
  ];
}

const mailGraphs = ({ logMetrics: { mailRequests, mailErrors, mailRefusals, mailLatency } }: Watched): Draw[] => [
  graph({
    title: "Mail endpoints: requests, and errors on the right",
    left: [mailRequests.with({ label: "requests" })],
    right: [mailErrors.with({ label: "5xx", color: Color.RED }), mailRefusals.with({ label: "401" })],
  }),
  graph({
    title: "Mail endpoints: latency, ms",
    left: percentiles(mailLatency),
    limit: { value: slos.mailLatency.slowMs, label: "SLO of p99" },
  }),
];

function ageGraph({ functions }: Watched): Draw {
  const publisher = functions.get("workers.publish_changes");
  return graph({
    title: "Age of the changes to publish, ms",
    left: publisher ? [iteratorAge(publisher)] : [],
    limit: { value: Duration.minutes(5).toMilliseconds(), label: "pages" },
  });
}

const webhookGraphs = ({ logMetrics: { webhookDelay, webhooksDue, webhooksGivenUp } }: Watched): Draw[] => [
  graph({
    title: "Webhooks: delay of the first attempt, ms",
    left: percentiles(webhookDelay),
    limit: { value: slos.webhookDelay.slowMs, label: "SLO of p99" },
  }),
  graph({
    title: "Webhooks: due, and given up on the right",
    left: [webhooksDue.with({ label: "due" })],
    right: [webhooksGivenUp.with({ label: "given up" })],
  }),
];

const moneyGraph = ({
  logMetrics: { ledgerViolations, billingFailed, billingBehind, closedAccountsPaid },
}: Watched): Draw =>
  graph({
    title: "Money: all lines should be at 0",
    left: [
      ledgerViolations.with({ label: "ledgers with errors" }),
      billingFailed.with({ label: "days not closed" }),
      billingBehind.with({ label: "accounts behind" }),
      closedAccountsPaid.with({ label: "closed accounts paid" }),
    ],
  });

const short = (worker: string): string => worker.replace("workers.", "");

function causeRows({ table, logMetrics, failures }: Watched): IWidget[][] {
  const failed = (metric: "deadLetters" | "notCalled"): IMetric[] =>
    failures.flatMap((one) => one[metric]?.with({ label: short(one.worker) }) ?? []);
  return [
    inRow([
      graph({
        title: "Functions: calls, and failures on the right",
        left: [functionsMetric("Invocations", "Sum").with({ label: "calls" })],
        right: [
          functionsMetric("Errors", "Sum").with({ label: "crashes", color: Color.RED }),
          functionsMetric("Throttles", "Sum").with({ label: "throttled" }),
        ],
      }),
      graph({
        title: "Functions: concurrent calls, and lines of errors on the right",
        left: [functionsMetric("ConcurrentExecutions", "Maximum").with({ label: "at once" })],
        right: [logMetrics.errors.with({ label: "lines at level error", color: Color.RED })],
      }),
      graph({
        title: "Table: units, and throttled requests on the right",
        left: [
          tableMetric(table, "ConsumedReadCapacityUnits").with({ label: "read units" }),
          tableMetric(table, "ConsumedWriteCapacityUnits").with({ label: "write units" }),
        ],
        right: ["ReadThrottleEvents", "WriteThrottleEvents"].map((name) => tableMetric(table, name)),
      }),
    ]),
    inRow([
      graph({ title: "Dead letters, by worker", left: failed("deadLetters"), hasLongLegend: true }),
      graph({
        title: "Calls that EventBridge could not make, by worker",
        left: failed("notCalled"),
        hasLongLegend: true,
      }),
    ]),
  ];
}

const logTable = (logGroup: LogGroup, title: string, queryLines: string[]): LogQueryWidget =>
  new LogQueryWidget({
    title,
    logGroupNames: [logGroup.logGroupName],
    view: LogQueryVisualizationType.TABLE,
    width: wholeWidth,
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
 * Lists this stage's functions that crashed or ran out of time. Such calls cause the alarm `Errors`. Lambda logs a line
 * at level WARN for each crash and time-out. The query reads these lines.
 */
const crashesWidget = (logGroup: LogGroup): LogQueryWidget =>
  logTable(logGroup, "Crashes and time-outs, by function", [
    'filter type in ["platform.runtimeDone", "platform.initRuntimeDone"] and record.status != "success"',
    "parse @logStream /(?<lambda>[^\\/]+)\\[/",
    "stats count(*) as calls, latest(@timestamp) as last by lambda, record.status",
    "sort calls desc",
  ]);
