import { Duration, Stack } from "aws-cdk-lib";
import {
  Alarm,
  AlarmRule,
  AlarmState,
  ComparisonOperator,
  CompositeAlarm,
  type IAlarm,
  type IAlarmRule,
  type IMetric,
  type Metric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";

import type { LogMetrics } from "./logs.ts";
import {
  functionsMetric,
  gatewayMetric,
  iteratorAge,
  percentOf,
  sum,
  tableMetric,
  type WorkerFailures,
  without,
} from "./metrics.ts";
import { type Counted, type Slo, badPercent, burnPercent, pageWindows, slos, ticketWindows } from "./slos.ts";
import { type SymptomId, symptomIds, symptoms, workGroupOf, workGroups } from "./symptoms.ts";
import type { Targets } from "./targets.ts";

/** The resources that the alarms of a stack watch. */
export type Watched = {
  apiId: string;
  latencyAlarmMs: number;
  table: Table;
  logMetrics: LogMetrics;
  /**
   * Whether the stage has a secret of mail servers. Without the secret, the mail endpoints answer 503. This 503 is not
   * a fault.
   */
  hasMailEndpoints: boolean;
  failures: readonly WorkerFailures[];
  /** The workers' functions, by name. */
  functions: ReadonlyMap<string, IFunction>;
};

/** The alarms of a stack: the alarms that page, by symptom, and the alarms that make tickets. */
export type Alarms = { pages: Map<SymptomId, IAlarm>; tickets: IAlarm[] };

type AlarmSettings = {
  /** The meaning of the alarm, without a full stop. */
  means: string;
  /** The anchor of the runbook's heading in docs/operations.md. */
  runbook: string;
  metric: IMetric;
  /** The alarm goes off when the metric reaches this value in `periods` periods in a row. `periods` is 1 by default. */
  threshold: number;
  periods?: number;
  /** If true, the alarm goes off below the threshold, and a period without data counts as below the threshold. */
  isBelow?: boolean;
};

/**
 * Adds all alarms. Each symptom that the stage can have gets a composite alarm, which pages. The alarms in the rule of
 * a composite alarm name the cause, and send no notices themselves. All other alarms make tickets.
 */
export function addAlarms(scope: Construct, watched: Watched, targets: Targets): Alarms {
  const tickets: IAlarm[] = [];
  const causes = new Map<SymptomId, IAlarmRule[]>();
  const addCause = (symptom: SymptomId, rule: IAlarmRule): void =>
    void causes.set(symptom, [...(causes.get(symptom) ?? []), rule]);
  // With a symptom, the alarm becomes a cause of the symptom. Without one, the alarm makes tickets.
  const assign = (symptom: SymptomId | undefined, alarm: Alarm): void => {
    if (symptom !== undefined) return addCause(symptom, inAlarm(alarm));
    tickets.push(alarm);
    if (targets.ticket) alarm.addAlarmAction(new SnsAction(targets.ticket));
  };
  for (const { slo, counted } of countedSlos(watched)) {
    const { page, later } = addBurnAlarms(scope, slo, counted);
    addCause(slo.symptom, AlarmRule.allOf(...page.map(inAlarm)));
    for (const alarm of later) assign(undefined, alarm);
  }
  for (const { id, symptom, ...settings } of singleAlarms(watched)) assign(symptom, addAlarm(scope, id, settings));
  for (const { id, symptom, ...settings } of workAlarms(watched.failures))
    assign(symptom, addAlarm(scope, id, settings));
  const pages = symptomIds.flatMap((id): [SymptomId, IAlarm][] => {
    const rules = causes.get(id);
    return rules === undefined ? [] : [[id, addSymptom(scope, id, rules, targets)]];
  });
  return { pages: new Map(pages), tickets };
}

const inAlarm = (alarm: IAlarm): IAlarmRule => AlarmRule.fromAlarm(alarm, AlarmState.ALARM);

type CountedSlo = { slo: Slo; counted: Counted };

/** The metrics of each SLO that the stage has. */
export function countedSlos({
  apiId,
  latencyAlarmMs,
  logMetrics,
  hasMailEndpoints,
}: Omit<Watched, "table" | "failures" | "functions">): CountedSlo[] {
  const { webhookDelay, mailRequests, mailErrors, mailLatency } = logMetrics;
  const serverErrors = gatewayMetric(apiId, "5xx", "Sum");
  const bad = hasMailEndpoints ? serverErrors : without(serverErrors, mailErrors);
  return [
    { slo: slos.apiAvailability, counted: { bad, all: gatewayMetric(apiId, "Count", "Sum") } },
    durationSlo({ ...slos.apiLatency, slowMs: latencyAlarmMs }, gatewayMetric(apiId, "Latency", "p99")),
    durationSlo(slos.webhookDelay, webhookDelay),
    ...(hasMailEndpoints
      ? [
          { slo: slos.mailAvailability, counted: { bad: mailErrors, all: mailRequests } },
          durationSlo(slos.mailLatency, mailLatency),
        ]
      : []),
  ];
}

/** An SLO about durations. A duration above `slowMs` is bad. CloudWatch's `TC(500:)` counts the values above 500. */
const durationSlo = (slo: Slo & { slowMs: number }, metric: Metric): CountedSlo => ({
  slo,
  counted: { bad: metric.with({ statistic: `TC(${slo.slowMs}:)` }), all: metric.with({ statistic: "SampleCount" }) },
});

/**
 * Adds the burn-rate alarms of an SLO. The alarms in `page` page when all of them are on. Each alarm in `later` makes a
 * ticket.
 */
function addBurnAlarms(scope: Construct, slo: Slo, counted: Counted): { page: Alarm[]; later: Alarm[] } {
  const add = ({ name, rate, window, periods }: (typeof pageWindows)[number]): Alarm =>
    addAlarm(scope, `${slo.id}.${name}`, {
      means: `${slo.promise}: the burn rate of the error budget of 30 days is ${rate} or more`,
      runbook: symptoms[slo.symptom].runbook,
      metric: badPercent(slo, counted, window),
      threshold: burnPercent(slo, rate),
      periods,
    });
  return { page: pageWindows.map(add), later: ticketWindows.map(add) };
}

type Single = AlarmSettings & { id: string; symptom?: SymptomId };

/** An alarm that makes a ticket. */
const ticketAlarm = (id: string, means: string, runbook: string, metric: IMetric, threshold: number): Single => ({
  id,
  means,
  runbook,
  metric,
  threshold,
});

/**
 * The alarms on one metric or one expression each. CloudWatch bills each metric of an alarm, so one metric covers all
 * functions. A 5xx answer that a function returns is not a crash.
 */
function singleAlarms({ table, logMetrics, hasMailEndpoints, functions }: Watched): Single[] {
  const publisher = functions.get("workers.publish_changes");
  const checker = functions.get("workers.check_ledgers");
  const tableThrottles = ["ReadThrottleEvents", "WriteThrottleEvents"].map((name) => tableMetric(table, name));
  const [crashes, throttled] = ["a-function-crashes", "calls-are-throttled"];
  return [
    ticketAlarm("Errors", "A function crashed or timed out", crashes, functionsMetric("Errors", "Sum"), 1),
    ticketAlarm("Throttles", "Calls of functions are throttled", throttled, functionsMetric("Throttles", "Sum"), 1),
    ticketAlarm("TableThrottled", "DynamoDB throttles the table", throttled, sum(tableThrottles), 10),
    ticketAlarm("LoggedErrors", "Functions log errors, and some work may not be done", crashes, logMetrics.errors, 10),
    ...webhookAlarms(logMetrics),
    ...moneyAlarms(logMetrics),
    ...(hasMailEndpoints ? [refusedKey(logMetrics)] : []),
    ...(checker ? [uncheckedLedgers(checker)] : []),
    ...(publisher ? [stuckEvents(publisher)] : []),
  ];
}

function webhookAlarms({ webhooksGivenUp, webhooksDue }: LogMetrics): Single[] {
  const { runbook } = symptoms.WebhooksLate;
  const givenUp = "Webhook deliveries were given up";
  const waiting = "2,000 or more webhook deliveries wait";
  return [
    { id: "WebhooksGivenUp", runbook, means: givenUp, metric: webhooksGivenUp, threshold: 50 },
    {
      id: "WebhooksDue",
      symptom: "WebhooksLate",
      runbook,
      means: waiting,
      metric: webhooksDue,
      threshold: 2_000,
      periods: 3,
    },
  ];
}

function moneyAlarms({ ledgerViolations, billingFailed, billingBehind, closedAccountsPaid }: LogMetrics): Single[] {
  const money = { symptom: "MoneyWrong", runbook: symptoms.MoneyWrong.runbook, threshold: 1 } as const;
  return [
    { ...money, id: "LedgerViolations", means: "The ledger of an account does not add up", metric: ledgerViolations },
    { ...money, id: "BillingFailed", means: "The days of an account could not be closed", metric: billingFailed },
    { ...money, id: "BillingBehind", means: "Billing is behind by more than a day", metric: billingBehind },
    ticketAlarm("ClosedAccountsPaid", "Money arrived for a closed account", money.runbook, closedAccountsPaid, 1),
  ];
}

/**
 * The alarm on mail servers whose key is not valid. Strangers can also send a wrong key, but a few strangers must not
 * wake a person. So the alarm goes off only if at least 20 requests, and at least 10 % of all requests, get a 401 in
 * each of two periods.
 */
const refusedKey = ({ mailRequests, mailRefusals }: LogMetrics): Single => ({
  id: "MailKeyRefused",
  symptom: "MailDoorsFailing",
  means: "Requests to mail endpoints get 401, so mail servers may have a wrong key",
  runbook: symptoms.MailDoorsFailing.runbook,
  metric: percentOf(mailRefusals, mailRequests, 20),
  threshold: 10,
  periods: 2,
});

/**
 * The alarm on the worker that checks the ledgers every hour. The alarm goes off if no call of the worker succeeds for
 * three hours.
 */
function uncheckedLedgers(checker: IFunction): Single {
  const means = "The ledgers were not checked for three hours";
  const metric = without(checker.metricInvocations(), checker.metricErrors()).with({ period: Duration.hours(3) });
  return { ...ticketAlarm("LedgersUnchecked", means, "work-fails", metric, 1), isBelow: true };
}

const stuckEvents = (publisher: IFunction): Single => ({
  id: "Events.iterator_age",
  symptom: "EventsStuck",
  means: "Changes wait for five minutes to be published",
  runbook: symptoms.EventsStuck.runbook,
  metric: iteratorAge(publisher),
  threshold: Duration.minutes(5).toMilliseconds(),
});

/** The alarms on the failed calls of each group of workers that the stack has. */
function workAlarms(failures: readonly WorkerFailures[]): Single[] {
  return Object.entries(workGroups).flatMap(([group, { symptom }]) => {
    const ours = failures.filter(({ worker }) => workGroupOf(worker) === group);
    const common = {
      ...(symptom === undefined ? {} : { symptom }),
      runbook: symptom === undefined ? "work-fails" : symptoms[symptom].runbook,
      threshold: 1,
    };
    const deadLetters = ours.map((one) => one.deadLetters);
    const notCalled = ours.flatMap((one) => one.notCalled ?? []);
    const names = ours.map(({ worker }) => worker.replace("workers.", "")).join(", ");
    return [
      { id: `${group}.dead_letters`, means: `Calls of a worker failed: ${names}`, metrics: deadLetters },
      { id: `${group}.not_called`, means: `EventBridge could not call a worker: ${names}`, metrics: notCalled },
    ].flatMap(({ id, means, metrics }) =>
      metrics.length === 0 ? [] : [{ ...common, id, means, metric: sum(metrics) }],
    );
  });
}

/** Adds the alarm `<stack>.<id>`, without an action. The alarm's description contains the meaning and the runbook. */
function addAlarm(scope: Construct, id: string, settings: AlarmSettings): Alarm {
  const { means, runbook, metric, threshold, periods = 1, isBelow = false } = settings;
  return new Alarm(scope, id, {
    alarmName: `${Stack.of(scope).stackName}.${id}`,
    alarmDescription: describe(means, runbook),
    metric,
    threshold,
    evaluationPeriods: periods,
    comparisonOperator: isBelow
      ? ComparisonOperator.LESS_THAN_THRESHOLD
      : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    treatMissingData: isBelow ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
  });
}

/** Adds the composite alarm of a symptom, which pages when one of the rules holds. */
function addSymptom(scope: Construct, id: SymptomId, rules: readonly IAlarmRule[], { page }: Targets): CompositeAlarm {
  const { means, runbook } = symptoms[id];
  const alarm = new CompositeAlarm(scope, id, {
    compositeAlarmName: `${Stack.of(scope).stackName}.${id}`,
    alarmDescription: describe(means, runbook),
    alarmRule: AlarmRule.anyOf(...rules),
  });
  if (page) alarm.addAlarmAction(new SnsAction(page));
  return alarm;
}

const describe = (means: string, runbook: string): string => `${means}. Runbook: docs/operations.md#${runbook}`;
