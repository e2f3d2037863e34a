import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test, vi } from "vitest";

import { workers } from "../../../../infra/entry-points.ts";
import { createLog } from "../../../../shared/core/log.ts";
import { template as product } from "../../product-functions.ts";
import { only, spec, synthesize } from "../synthesis.ts";

const template = synthesize(
  [spec("me.get")],
  { stage: "blue", alarmEmail: "ops@example.com", mailSecretName: "mail/servers" },
  undefined,
  workers,
);
const alarms = Object.values(template.findResources("AWS::CloudWatch::Alarm")).map((alarm) => alarm["Properties"]);
const filters = Object.values(template.findResources("AWS::Logs::MetricFilter")).map((one) => one["Properties"]);
const traced = synthesize([spec("me.get")], { trace: true });

test("what only the log tells is counted from the functions' lines, under the stage's name", () => {
  const group = Object.keys(template.findResources("AWS::Logs::LogGroup")).find((id) => id.startsWith("FunctionLogs"));
  const counted = filters.map(({ LogGroupName, FilterPattern, MetricTransformations: [to] }) => {
    expect([LogGroupName, to.MetricNamespace]).toEqual([{ Ref: group }, "HostedMail/blue"]);
    return [to.MetricName, FilterPattern, to.MetricValue];
  });
  expect(counted).toEqual([
    ["LoggedErrors", '{ $.level = "error" }', "1"],
    ["WebhooksGivenUp", '{ ($.worker = "retry_deliveries") && ($.failed > 0) }', "$.failed"],
    ["WebhooksDue", '{ ($.worker = "retry_deliveries") && ($.due > 0) }', "$.due"],
    ["LedgerViolations", '{ $.message = "ledger violation" }', "1"],
    ["BillingFailed", '{ ($.worker = "run_billing_day") && ($.failed > 0) }', "$.failed"],
    ["BillingBehind", '{ ($.worker = "run_billing_day") && ($.behind > 0) }', "$.behind"],
    ["ClosedAccountsPaid", '{ $.message = "a closed account was paid" }', "1"],
  ]);
});

test("the lines have the members that are counted by", () => {
  const lines: string[] = [];
  const writing = vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  createLog("info", { worker: "retry_deliveries" }).error("ledger violation", { failed: 2, due: 3 });
  writing.mockRestore();
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    level: "error",
    worker: "retry_deliveries",
    message: "ledger violation",
    failed: 2,
    due: 3,
  });
});

test.each([
  ["LoggedErrors", 10],
  ["WebhooksGivenUp", 50],
  ["WebhooksDue", 2_000],
  ["LedgerViolations", 1],
  ["BillingFailed", 1],
  ["BillingBehind", 1],
  ["ClosedAccountsPaid", 1],
])("%s raise an alarm from %d on", (MetricName, Threshold) => {
  expect(alarms).toContainEqual(expect.objectContaining({ Namespace: "HostedMail/blue", MetricName, Threshold }));
});

test("an alarm goes by the stack's name and its own, as the runbooks call it", () => {
  const names = alarms.map(({ AlarmName }) => String(AlarmName));
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^hosted-mail-blue\.[\w.]+$/);
  expect(names).toContain("hosted-mail-blue.Latency");
});

test("nobody checking the ledgers for three hours is an alarm, also when nothing is heard at all", () => {
  expect(alarms).toContainEqual(
    expect.objectContaining({
      MetricName: "Invocations",
      Dimensions: [{ Name: "FunctionName", Value: { Ref: "WorkersCheckLedgersFunction" } }],
      Period: 3 * 3600,
      ComparisonOperator: "LessThanThreshold",
      TreatMissingData: "breaching",
    }),
  );
});

test("a throttled table is an alarm", () => {
  const names = alarms.flatMap(({ Metrics = [] }) =>
    Metrics.map(({ MetricStat }: { MetricStat?: { Metric: { MetricName: string } } }) => MetricStat?.Metric.MetricName),
  );
  expect(names).toEqual(expect.arrayContaining(["ReadThrottleEvents", "WriteThrottleEvents"]));
});

type Alarm = { Metrics?: { MetricStat?: unknown }[] };

/** How many metrics CloudWatch bills an alarm by: each that its expression uses, or its one. */
const billedOf = ({ Metrics }: Alarm): number =>
  Metrics === undefined ? 1 : Metrics.filter(({ MetricStat }) => MetricStat !== undefined).length;

test("the alarms of the whole product and the metrics of its own are fewer than 60, and docs/deploy.md has their cost", () => {
  const propertiesOf = (type: string) => Object.values(product.findResources(type)).map((one) => one["Properties"]);
  const watched = propertiesOf("AWS::CloudWatch::Alarm").reduce((all, alarm: Alarm) => all + billedOf(alarm), 0);
  const own = new Set(
    propertiesOf("AWS::Logs::MetricFilter").map(({ MetricTransformations: [to] }) => {
      // A dimension would make a metric of each of its values.
      expect(to.Dimensions).toBeUndefined();
      return `${to.MetricNamespace} ${to.MetricName}`;
    }),
  ).size;
  expect(watched + own).toBeLessThan(60);
  const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/deploy.md"), "utf8");
  const row = page.split("\n").find((line) => line.includes("metrics in alarms"));
  expect(row).toContain(`${watched} metrics in alarms, ${own} metrics of our own`);
  expect(row).toContain(`$${(watched * 0.1).toFixed(2)}, $${(own * 0.3).toFixed(2)}`);
});

test("an alarm on an expression counts by each metric in it", () => {
  const metric = { MetricStat: {} };
  expect([{}, { Metrics: [metric] }, { Metrics: [{}, metric, metric] }].map(billedOf)).toEqual([1, 1, 2]);
});

test("one dashboard shows requests, functions, the table, every queue of dead letters, webhooks and the books", () => {
  const [, dashboard] = only(template, "AWS::CloudWatch::Dashboard");
  expect(dashboard["Properties"].DashboardName).toBe("hosted-mail-blue");
  const text = JSON.stringify(dashboard["Properties"].DashboardBody);
  for (const shown of [
    "5xx",
    "p99",
    "ConcurrentExecutions",
    "ConsumedWriteCapacityUnits",
    "IteratorAge",
    "platform.runtimeDone",
  ]) {
    expect(text).toContain(shown);
  }
  for (const { name } of workers) expect(text).toContain(name);
  for (const { MetricTransformations } of filters) expect(text).toContain(MetricTransformations[0].MetricName);
});

test("X-Ray has traces of every function where it is asked for, and nowhere else", () => {
  expect(JSON.stringify(template.toJSON())).not.toMatch(/xray|TracingConfig/);
  expect(only(traced, "AWS::Lambda::Function")[1]["Properties"].TracingConfig).toEqual({ Mode: "Active" });
  expect(traced.findResources("AWS::IAM::Policy")).toEqual({});
  const roles = Object.values(traced.findResources("AWS::IAM::Role")).map((role) => JSON.stringify(role));
  for (const role of roles.filter((text) => text.includes("lambda.amazonaws.com"))) {
    expect(role).toContain("xray:PutTraceSegments");
  }
});

test("everything that a stage makes is tagged with the product and the stage", () => {
  let tags: Record<string, string> = {};
  synthesize([spec("me.get")], { stage: "blue" }, (stack) => void (tags = stack.tags.tagValues()));
  expect(tags).toEqual({ service: "hosted-mail", stage: "blue" });
});
