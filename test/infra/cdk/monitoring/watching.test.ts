import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test, vi } from "vitest";

import { symptoms, workGroupOf, workGroups } from "../../../../infra/cdk/monitoring/symptoms.ts";
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
const composites = Object.values(template.findResources("AWS::CloudWatch::CompositeAlarm")).map(
  (alarm) => alarm["Properties"],
);
const [pageTopic, ticketTopic] = ["PageTopic", "TicketTopic"].map(
  (name) => Object.keys(template.findResources("AWS::SNS::Topic")).find((id) => id.startsWith(name)) ?? "",
);
const filters = Object.values(template.findResources("AWS::Logs::MetricFilter")).map((one) => one["Properties"]);
const traced = synthesize([spec("me.get")], { trace: true });

test("figures for which AWS has no metric are counted from log lines, in the namespace of the stage", () => {
  const counted = (group: string) =>
    filters
      .filter(({ LogGroupName: { Ref } }) => Ref.startsWith(group))
      .map(({ FilterPattern, MetricTransformations: [to] }) => {
        expect(to.MetricNamespace).toBe("HostedMail/blue");
        return [to.MetricName, FilterPattern, to.MetricValue];
      });
  expect(counted("AccessLogs")).toEqual([
    ["MailDoorRequests", '{ $.route = "* /internal/mail/*" }', "1"],
    ["MailDoorErrors", '{ ($.route = "* /internal/mail/*") && ($.status = "5*") }', "1"],
    ["MailDoorRefusals", '{ ($.route = "* /internal/mail/*") && ($.status = "401") }', "1"],
  ]);
  expect(counted("FunctionLogs")).toEqual([
    ["LoggedErrors", '{ $.level = "error" }', "1"],
    ["WebhooksGivenUp", '{ ($.worker = "retry_deliveries") && ($.failed > 0) }', "$.failed"],
    ["WebhooksDue", '{ ($.worker = "retry_deliveries") && ($.due > 0) }', "$.due"],
    ["LedgerViolations", '{ $.message = "ledger violation" }', "1"],
    ["BillingFailed", '{ $.message = "billing day failed" }', "1"],
    ["BillingBehind", '{ ($.worker = "run_billing_day") && ($.behind > 0) }', "$.behind"],
    ["ClosedAccountsPaid", '{ $.message = "a closed account was paid" }', "1"],
    ["WebhookDelay", '{ ($.worker = "dispatch_event") && ($.delay_ms >= 0) }', "$.delay_ms"],
    ["MailDoorLatency", '{ ($.message = "request") && ($.path = "/internal/mail/*") }', "$.duration_ms"],
  ]);
});

test("log lines have the members by which the metrics count them", () => {
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

test("the name of an alarm is the name of the stack and its own name, and no two alarms have the same name", () => {
  const names = alarms.map(({ AlarmName }) => String(AlarmName));
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^hosted-mail-blue\.[\w.]+$/);
  expect(names).toContain("hosted-mail-blue.Errors");
});

test("an alarm goes off if no check of the ledgers completes for three hours, also if there is no data at all", () => {
  const alarm = alarms.find(({ AlarmName }) => AlarmName === "hosted-mail-blue.LedgersUnchecked");
  expect(alarm).toMatchObject({ ComparisonOperator: "LessThanThreshold", TreatMissingData: "breaching" });
  const [expression, calls, crashes] = alarm?.Metrics ?? [];
  expect(expression.Expression).toBe("answered - FILL(expected, 0)");
  expect([calls, crashes].map(({ Id, MetricStat }) => [Id, MetricStat])).toEqual(
    [
      ["answered", "Invocations"],
      ["expected", "Errors"],
    ].map(([id, MetricName]) => [
      id,
      {
        Metric: {
          Namespace: "AWS/Lambda",
          MetricName,
          Dimensions: [{ Name: "FunctionName", Value: { Ref: "WorkersCheckLedgersFunction" } }],
        },
        Period: 3 * 3600,
        Stat: "Sum",
      },
    ]),
  );
});

test("the alarm on mail servers with a wrong key goes off if 10 % of their requests, and 20 requests, get 401 for ten minutes", () => {
  const alarm = alarms.find(({ AlarmName }) => AlarmName === "hosted-mail-blue.MailKeyRefused");
  expect(alarm).toMatchObject({
    Threshold: 10,
    EvaluationPeriods: 2,
    ComparisonOperator: "GreaterThanOrEqualToThreshold",
    TreatMissingData: "notBreaching",
  });
  const [expression, some, every] = alarm?.Metrics ?? [];
  expect(expression.Expression).toBe("IF(FILL(some, 0) < 20, 0, 100 * FILL(some, 0) / every)");
  const countOf = (name: string) => ({ Metric: { MetricName: name }, Period: 300, Stat: "Sum" });
  expect([some, every]).toMatchObject([
    { Id: "some", MetricStat: countOf("MailDoorRefusals") },
    { Id: "every", MetricStat: countOf("MailDoorRequests") },
  ]);
  const { AlarmRule } = composites.find(({ AlarmName }) => AlarmName === "hosted-mail-blue.MailDoorsFailing") ?? {};
  expect(JSON.stringify(AlarmRule)).toContain("MailKeyRefused");
  const withoutMail = synthesize([spec("me.get")], { stage: "blue" }, undefined, workers);
  expect(JSON.stringify(withoutMail.findResources("AWS::CloudWatch::Alarm"))).not.toContain("MailKeyRefused");
});

/** An alarm of an SLO: its properties, its expression, and the metrics with their windows in seconds. */
const burnOf = (id: string) => {
  const alarm = alarms.find(({ AlarmName }) => AlarmName === `hosted-mail-blue.${id}`);
  const [expression, bad, all] = alarm?.Metrics ?? [];
  return {
    ...alarm,
    expression: expression?.Expression,
    stats: [bad, all].map((one) => [one?.MetricStat.Metric.MetricName, one?.MetricStat.Stat, one?.MetricStat.Period]),
  };
};

test.each([
  ["LastHour", 1.44, 3_600, 1],
  ["Last5Minutes", 1.44, 300, 1],
  ["LastDay", 0.3, 86_400, 1],
  ["Last3Days", 0.1, 86_400, 3],
])(
  "the alarm %s goes off if %d %% of the requests of %d seconds fail, which burns the budget of 0.1 %% too fast",
  (name, percent, seconds, periods) => {
    expect(burnOf(`ApiAvailability.${name}`)).toMatchObject({
      Threshold: percent,
      EvaluationPeriods: periods,
      ComparisonOperator: "GreaterThanOrEqualToThreshold",
      TreatMissingData: "notBreaching",
      expression: "IF(FILL(badApiAvailability, 0) < 5, 0, 100 * FILL(badApiAvailability, 0) / allApiAvailability)",
      stats: [
        ["5xx", "Sum", seconds],
        ["Count", "Sum", seconds],
      ],
    });
  },
);

test.each([
  ["ApiLatency", "Latency", "TC(2000:)"],
  ["WebhookDelay", "WebhookDelay", "TC(60000:)"],
  ["MailLatency", "MailDoorLatency", "TC(500:)"],
])(
  "%s counts requests that are slower than its SLO, and goes off if 14.4 %% of an hour's requests are slower",
  (id, metric, stat) => {
    expect(burnOf(`${id}.LastHour`)).toMatchObject({
      Threshold: 14.4,
      stats: [
        [metric, stat, 3_600],
        [metric, "SampleCount", 3_600],
      ],
    });
  },
);

test("each symptom pages by a composite alarm, and the two fast windows count only together", () => {
  expect(composites.map(({ AlarmName }) => AlarmName.replace("hosted-mail-blue.", ""))).toEqual(Object.keys(symptoms));
  for (const { AlarmActions } of composites) expect(AlarmActions).toEqual([{ Ref: pageTopic }]);
  const ruleOf = ({ AlarmRule }: { AlarmRule: { "Fn::Join": [string, unknown[]] } }) =>
    AlarmRule["Fn::Join"][1].map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join("");
  const rules = composites.map((one) => ruleOf(one as never));
  expect(rules[0]).toMatch(
    /^\(\(ALARM\("[^)]*ApiAvailabilityLastHour[^)]*\) AND ALARM\("[^)]*Last5Minutes[^)]*\)\)\)$/,
  );
  const ids = Object.keys(template.findResources("AWS::CloudWatch::Alarm"));
  for (const id of ids) {
    const alarm = template.findResources("AWS::CloudWatch::Alarm")[id]?.["Properties"];
    const isCause = rules.some((rule) => rule.includes(id));
    // An alarm that is part of a composite alarm sends nothing itself. Every other alarm makes a ticket.
    expect([alarm.AlarmName, alarm.AlarmActions]).toEqual([
      alarm.AlarmName,
      isCause ? undefined : [{ Ref: ticketTopic }],
    ]);
  }
});

test("pages and tickets go to their own targets, or else to the mail address for alarms", () => {
  const subscriptionsOf = (settings: Record<string, unknown>) =>
    Object.values(synthesize([spec("me.get")], settings).findResources("AWS::SNS::Subscription"))
      .map((one) => one["Properties"])
      .map(({ TopicArn: { Ref }, Protocol, Endpoint }) => [Ref.replace(/Topic.*/, ""), Protocol, Endpoint]);
  const [mail, pager] = ["ops@example.com", "https://pager.example/hook"];
  expect(subscriptionsOf({ alarmEmail: mail })).toEqual([
    ["Page", "email", mail],
    ["Ticket", "email", mail],
  ]);
  expect(subscriptionsOf({ pageTarget: pager, ticketTarget: mail })).toEqual([
    ["Page", "https", pager],
    ["Ticket", "email", mail],
  ]);
  expect(subscriptionsOf({ ticketTarget: mail })).toEqual([["Ticket", "email", mail]]);
  expect(subscriptionsOf({})).toEqual([]);
});

test("CloudWatch of this AWS account may publish to both topics", () => {
  for (const topic of [pageTopic, ticketTopic]) {
    const policy = Object.values(template.findResources("AWS::SNS::TopicPolicy")).find(
      (one) => one["Properties"].Topics[0].Ref === topic,
    );
    expect(policy?.["Properties"].PolicyDocument.Statement).toContainEqual(
      expect.objectContaining({
        Action: "sns:Publish",
        Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
        Principal: { Service: "cloudwatch.amazonaws.com" },
        Resource: { Ref: topic },
      }),
    );
  }
});

test("the description of every alarm names a runbook that docs/operations.md has", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/operations.md"), "utf8");
  const anchors = [...page.matchAll(/^#{2,4} (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
  for (const { AlarmDescription } of [...alarms, ...composites]) {
    const [, anchor] = /^.{10,}\. Runbook: docs\/operations\.md#([\w-]+)$/.exec(AlarmDescription) ?? [];
    expect(anchors).toContain(anchor);
  }
});

test("the runbook that stops workers names every worker with a rule on the product's own bus", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/operations.md"), "utf8");
  const [, text = ""] = /These workers are called with events: (.+?)\. For these/s.exec(page) ?? [];
  const named = [...text.matchAll(/`(workers\.\w+)`/g)].map(([, name]) => name);
  const onBus = workers.filter(({ source }) => source !== "changes" && "events" in source).map(({ name }) => name);
  expect(named).toEqual(onBus.toSorted());
});

test("docs/deploy.md has every alarm that the product can have", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/deploy.md"), "utf8");
  for (const { AlarmName } of [...alarms, ...composites]) {
    const name = AlarmName.replace("hosted-mail-blue.", "");
    const generic = name.replace(/^\w+\.(?=Last)/, "<SLO>.").replace(/^\w+(?=\.(dead_letters|not_called))/, "<group>");
    expect([name, page.includes(`\`${name}\``) || page.includes(`\`${generic}\``)]).toEqual([name, true]);
  }
});

test("if configured, a budget and the detection of anomalies watch the cost of the stage, and warn by tickets", () => {
  const costs = synthesize([spec("me.get")], {
    stage: "blue",
    ticketTarget: "ops@example.com",
    monthlyBudgetUsd: 200,
    costAnomalyUsd: "25",
  });
  const [topic] = only(costs, "AWS::SNS::Topic");
  expect(only(costs, "AWS::Budgets::Budget")[1]["Properties"]).toMatchObject({
    Budget: { BudgetLimit: { Amount: 200, Unit: "USD" }, CostFilters: { TagKeyValue: ["user:stage$blue"] } },
    NotificationsWithSubscribers: [
      { Notification: { NotificationType: "ACTUAL", Threshold: 80 }, Subscribers: [{ Address: { Ref: topic } }] },
      { Notification: { NotificationType: "FORECASTED", Threshold: 100 } },
    ],
  });
  expect(JSON.parse(only(costs, "AWS::CE::AnomalyMonitor")[1]["Properties"].MonitorSpecification)).toMatchObject({
    Tags: { Key: "stage", Values: ["blue"] },
  });
  const subscription = only(costs, "AWS::CE::AnomalySubscription")[1]["Properties"];
  expect(subscription).toMatchObject({ Frequency: "IMMEDIATE", Subscribers: [{ Type: "SNS" }] });
  expect(subscription.ThresholdExpression).toContain('"25"');
  const services = JSON.stringify(only(costs, "AWS::SNS::TopicPolicy"));
  for (const service of ["budgets", "costalerts"]) expect(services).toContain(`${service}.amazonaws.com`);
  for (const type of ["Budgets::Budget", "CE::AnomalyMonitor", "CE::AnomalySubscription"])
    expect(template.findResources(`AWS::${type}`)).toEqual({});
});

test("a worker that no group watches cannot be deployed", () => {
  const stranger = { name: "workers.stranger", file: "", access: "none", source: { every: "hour" } } as const;
  expect(() => synthesize([spec("me.get")], {}, undefined, [...workers, stranger])).toThrow();
  expect(() => workGroupOf("workers.stranger")).toThrow(/workers\.stranger is in no group/);
  // An alarm watches all workers of a group, and CloudWatch allows ten metrics in an alarm.
  for (const group of Object.values(workGroups)) expect(group.workers.length).toBeLessThanOrEqual(10);
});

test("alarms watch the throttling of the table", () => {
  const names = alarms.flatMap(({ Metrics = [] }) =>
    Metrics.map(({ MetricStat }: { MetricStat?: { Metric: { MetricName: string } } }) => MetricStat?.Metric.MetricName),
  );
  expect(names).toEqual(expect.arrayContaining(["ReadThrottleEvents", "WriteThrottleEvents"]));
});

type Alarm = { Metrics?: { MetricStat?: unknown }[] };

/** The number of metrics that CloudWatch bills for an alarm: each metric that its expression uses, or else one. */
const billedOf = ({ Metrics }: Alarm): number =>
  Metrics === undefined ? 1 : Metrics.filter(({ MetricStat }) => MetricStat !== undefined).length;

test("the metrics in alarms and the product's own metrics are together fewer than 110, and docs/deploy.md has their cost", () => {
  const propertiesOf = (type: string) => Object.values(product.findResources(type)).map((one) => one["Properties"]);
  const watched = propertiesOf("AWS::CloudWatch::Alarm").reduce((all, alarm: Alarm) => all + billedOf(alarm), 0);
  const own = new Set(
    propertiesOf("AWS::Logs::MetricFilter").map(({ MetricTransformations: [to] }) => {
      // With a dimension, each value of the dimension would be a metric of its own.
      expect(to.Dimensions).toBeUndefined();
      return `${to.MetricNamespace} ${to.MetricName}`;
    }),
  ).size;
  expect(watched + own).toBeLessThan(110);
  const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/deploy.md"), "utf8");
  const row = page.split("\n").find((line) => line.includes("metrics in alarms"));
  const composite = Object.keys(product.findResources("AWS::CloudWatch::CompositeAlarm")).length;
  const counts = `${watched} metrics in alarms, ${composite} composite alarms, ${own} metrics of our own`;
  expect(row).toContain(counts);
  const costs = [watched * 0.1, composite * 0.5, own * 0.3].map((cost) => `$${cost.toFixed(2)}`);
  expect(row).toContain(costs.join(", "));
});

test("an alarm on an expression counts once for each metric in the expression", () => {
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
  for (const { name } of workers) expect(text).toContain(name.replace("workers.", ""));
  for (const { MetricTransformations } of filters) expect(text).toContain(MetricTransformations[0].MetricName);
});

test("with the setting for traces, every function may send traces to X-Ray, and without it none does", () => {
  expect(JSON.stringify(template.toJSON())).not.toMatch(/xray|TracingConfig/);
  expect(only(traced, "AWS::Lambda::Function")[1]["Properties"].TracingConfig).toEqual({ Mode: "Active" });
  expect(traced.findResources("AWS::IAM::Policy")).toEqual({});
  const roles = Object.values(traced.findResources("AWS::IAM::Role")).map((role) => JSON.stringify(role));
  for (const role of roles.filter((text) => text.includes("lambda.amazonaws.com"))) {
    expect(role).toContain("xray:PutTraceSegments");
  }
});

test("the stack of a stage is tagged with the product and the stage", () => {
  let tags: Record<string, string> = {};
  synthesize([spec("me.get")], { stage: "blue" }, (stack) => void (tags = stack.tags.tagValues()));
  expect(tags).toEqual({ service: "hosted-mail", stage: "blue" });
});
