import { Duration } from "aws-cdk-lib";
import { type IMetric, MathExpression } from "aws-cdk-lib/aws-cloudwatch";

import type { SymptomId } from "./symptoms.ts";

/** A service level objective: the share of requests that are good, over 30 days. */
export type Slo = {
  id: string;
  /** The promise in words, for the dashboard and for alarms. */
  promise: string;
  /** The least share of good requests, in percent. */
  goalPercent: number;
  /**
   * The longest duration of a good request, in milliseconds. Undefined if the SLO is about errors, or if the duration
   * is a setting.
   */
  slowMs?: number;
  /** The symptom whose alarm goes off when the error budget burns fast. */
  symptom: SymptomId;
};

/** The SLOs. docs/deploy.md has their table and the arithmetic of their alarms. */
export const slos = {
  apiAvailability: {
    id: "ApiAvailability",
    promise: "API requests without a 5xx",
    goalPercent: 99.9,
    symptom: "ApiUnavailable",
  },
  /** `slowMs` is the setting `latencyAlarmMs`. */
  apiLatency: { id: "ApiLatency", promise: "API requests in time", goalPercent: 99, symptom: "ApiSlow" },
  webhookDelay: {
    id: "WebhookDelay",
    promise: "Webhooks tried within a minute",
    goalPercent: 99,
    slowMs: 60_000,
    symptom: "WebhooksLate",
  },
  mailAvailability: {
    id: "MailAvailability",
    promise: "Mail endpoints without a 5xx",
    goalPercent: 99.9,
    symptom: "MailDoorsFailing",
  },
  mailLatency: {
    id: "MailLatency",
    promise: "Mail endpoints within 500 ms",
    goalPercent: 99,
    slowMs: 500,
    symptom: "MailDoorsFailing",
  },
} as const satisfies Record<string, Slo>;

/**
 * A window in which an alarm watches the error budget. A rate of 1 spends the budget of 30 days in 30 days. The alarm
 * goes off when each of `periods` windows in a row has at least the rate `rate`.
 */
export type BurnWindow = { name: string; rate: number; window: Duration; periods: number };

/**
 * The alarm pages when both windows have the rate. The long window shows that the loss matters. The short window shows
 * that the loss still goes on.
 */
export const pageWindows: readonly BurnWindow[] = [
  { name: "LastHour", rate: 14.4, window: Duration.hours(1), periods: 1 },
  { name: "Last5Minutes", rate: 14.4, window: Duration.minutes(5), periods: 1 },
];

/** Each of these windows alone makes a ticket. */
export const ticketWindows: readonly BurnWindow[] = [
  { name: "LastDay", rate: 3, window: Duration.days(1), periods: 1 },
  { name: "Last3Days", rate: 1, window: Duration.days(1), periods: 3 },
];

/**
 * The fewest bad requests in a window that can raise an alarm. With little traffic, a single bad request is already a
 * large share.
 */
const fewestBad = 5;

/** The metrics of an SLO: the number of bad requests, and of all requests. */
export type Counted = { bad: IMetric; all: IMetric };

/**
 * The share of an SLO's bad requests in a window, in percent. The share counts as 0 in a window with fewer than
 * `fewestBad` bad requests.
 */
export const badPercent = (slo: Slo, counted: Counted, window: Duration): MathExpression =>
  expressionOf(slo, counted, window, (bad, all) => `IF(${bad} < ${fewestBad}, 0, 100 * ${bad} / ${all})`, "bad, %");

/** The burn rate of an SLO in an hour: 1 spends the error budget of 30 days in 30 days. */
export const burnRate = (slo: Slo, counted: Counted): MathExpression =>
  expressionOf(
    slo,
    counted,
    Duration.hours(1),
    (bad, all) => `100 * ${bad} / ${all} / ${burnPercent(slo, 1)}`,
    slo.promise,
  );

/** The share of an SLO's good requests, in percent. */
export const goodPercent = (slo: Slo, counted: Counted): MathExpression =>
  expressionOf(slo, counted, Duration.minutes(5), (bad, all) => `100 - 100 * ${bad} / ${all}`, "% good");

/**
 * An expression with the counts of an SLO. The ids of its metrics contain the SLO's id, because a graph shows several
 * SLOs.
 */
function expressionOf(
  { id }: Slo,
  { bad, all }: Counted,
  period: Duration,
  write: (bad: string, all: string) => string,
  label: string,
): MathExpression {
  const [badId, allId] = [`bad${id}`, `all${id}`];
  const expression = write(`FILL(${badId}, 0)`, allId);
  return new MathExpression({ expression, usingMetrics: { [badId]: bad, [allId]: all }, period, label });
}

/** The share of bad requests, in percent, at which an SLO burns its budget at a given rate. */
export const burnPercent = ({ goalPercent }: Slo, rate: number): number =>
  Math.round(rate * (100 - goalPercent) * 1_000) / 1_000;
