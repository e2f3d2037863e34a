import { expect, test } from "vitest";

import { workers } from "../../../../infra/entry-points.ts";
import { eventTypes } from "../../../../shared/webhooks/event-types.ts";
import { only, spec, synthesize } from "../synthesis.ts";

const settings = { stage: "blue", alarmEmail: "ops@example.com" };

/** The resources of a stack with only one worker. */
function resourcesOf(name: string) {
  const template = synthesize(
    [spec("me.get")],
    settings,
    undefined,
    workers.filter((worker) => worker.name === name),
  );
  const [queueId, queue] = only(template, "AWS::SQS::Queue");
  const [ruleId, rule] = only(template, "AWS::Events::Rule");
  const alarms = Object.values(template.findResources("AWS::CloudWatch::Alarm")).map((alarm) => alarm["Properties"]);
  return { template, queueId, queue: queue["Properties"], ruleId, rule: rule["Properties"], alarms };
}

const events = resourcesOf("workers.dispatch_event");
const letters = resourcesOf("workers.send_verification");
const minute = resourcesOf("workers.retry_deliveries");
const day = resourcesOf("workers.run_billing_day");
const hour = resourcesOf("workers.check_ledgers");
const arnOf = (id: string) => ({ "Fn::GetAtt": [id, "Arn"] });
const all = [
  { name: "workers.dispatch_event", functionId: "WorkersDispatchEventFunction", ...events },
  { name: "workers.retry_deliveries", functionId: "WorkersRetryDeliveriesFunction", ...minute },
  { name: "workers.send_verification", functionId: "WorkersSendVerificationFunction", ...letters },
  { name: "workers.run_billing_day", functionId: "WorkersRunBillingDayFunction", ...day },
];

test("the dispatcher gets every event of the product on the stage's bus, and nothing else", () => {
  expect(events.rule).toMatchObject({
    EventBusName: { Ref: only(events.template, "AWS::Events::EventBus")[0] },
    EventPattern: { source: ["hosted-mail"] },
    State: "ENABLED",
    Targets: [{ Arn: arnOf("WorkersDispatchEventFunction") }],
  });
  expect(events.rule).not.toHaveProperty("ScheduleExpression");
});

test("the worker for verifications gets only the product's events that request a verification", () => {
  expect(letters.rule).toMatchObject({
    EventBusName: { Ref: only(letters.template, "AWS::Events::EventBus")[0] },
    State: "ENABLED",
    Targets: [{ Arn: arnOf("WorkersSendVerificationFunction") }],
  });
  expect(letters.rule.EventPattern).toEqual({
    source: ["hosted-mail"],
    "detail-type": ["forwarding.verification_requested"],
  });
  const known = eventTypes().map(({ type }) => type);
  expect(known).toEqual(expect.arrayContaining(letters.rule.EventPattern["detail-type"]));
});

test.each([
  {
    what: "the retry of deliveries runs every minute",
    expression: "rate(1 minute)",
    id: "WorkersRetryDeliveriesFunction",
    ...minute,
  },
  {
    what: "the billing day runs every minute",
    expression: "rate(1 minute)",
    id: "WorkersRunBillingDayFunction",
    ...day,
  },
])("$what, by a rule on the default bus", ({ rule, expression, id }) => {
  expect(rule).toMatchObject({ ScheduleExpression: expression, State: "ENABLED", Targets: [{ Arn: arnOf(id) }] });
  expect(rule).not.toHaveProperty("EventPattern");
  expect(rule).not.toHaveProperty("EventBusName");
});

test.each([
  { of: "an event", ...events, seconds: 6 * 3600, handover: 60, run: 2 },
  { of: "one kind of event", ...letters, seconds: 6 * 3600, handover: 60, run: 2 },
  { of: "a minute's run", ...minute, seconds: 60, handover: 0, run: 0 },
  { of: "an hour's run", ...hour, seconds: 30 * 60, handover: 10, run: 1 },
])(
  "$of is retried $handover times if Lambda does not accept it, and $run times if it fails, within $seconds seconds",
  ({ template, queueId, rule, seconds, handover, run }) => {
    expect(rule.Targets[0]).toMatchObject({
      RetryPolicy: { MaximumEventAgeInSeconds: seconds, MaximumRetryAttempts: handover },
      DeadLetterConfig: { Arn: arnOf(queueId) },
    });
    expect(only(template, "AWS::Lambda::EventInvokeConfig")[1]["Properties"]).toMatchObject({
      MaximumEventAgeInSeconds: seconds,
      MaximumRetryAttempts: run,
      DestinationConfig: { OnFailure: { Destination: arnOf(queueId) } },
    });
  },
);

test.each(all)("only its rule may call $name and put dead letters into its queue", (one) => {
  const [, permission] = only(one.template, "AWS::Lambda::Permission");
  expect(permission["Properties"]).toEqual({
    Action: "lambda:InvokeFunction",
    FunctionName: arnOf(one.functionId),
    Principal: "events.amazonaws.com",
    SourceArn: arnOf(one.ruleId),
  });
  const [, policy] = only(one.template, "AWS::SQS::QueuePolicy");
  expect(policy["Properties"].PolicyDocument.Statement).toEqual([
    expect.objectContaining({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
    expect.objectContaining({
      Effect: "Allow",
      Action: "sqs:SendMessage",
      Principal: { Service: "events.amazonaws.com" },
      Condition: { ArnEquals: { "aws:SourceArn": arnOf(one.ruleId) } },
    }),
  ]);
});

test.each(all)("dead letters of $name are encrypted and kept for 14 days", ({ queue }) => {
  expect(queue).toMatchObject({ SqsManagedSseEnabled: true, MessageRetentionPeriod: 14 * 86_400 });
});

/** The alarms that watch a metric. They have the metric in their list `Metrics`. */
const watching = (alarms: Record<string, unknown>[], metric: Record<string, unknown>) =>
  alarms.filter((alarm) => JSON.stringify(alarm["Metrics"] ?? null).includes(JSON.stringify(metric)));

test.each(all)("one dead letter of $name sets off an alarm", ({ name, queueId, alarms }) => {
  const [alarm, ...others] = watching(alarms, {
    Dimensions: [{ Name: "QueueName", Value: { "Fn::GetAtt": [queueId, "QueueName"] } }],
    MetricName: "ApproximateNumberOfMessagesVisible",
    Namespace: "AWS/SQS",
  });
  expect(alarm).toMatchObject({
    AlarmDescription: expect.stringContaining(name.replace("workers.", "")),
    Threshold: 1,
    EvaluationPeriods: 1,
  });
  expect(others).toEqual([]);
});

test.each(all)(
  "one failed call of $name by its rule sets off an alarm, which finds the rule by its name",
  ({ name, ...one }) => {
    const onBus = "EventBusName" in one.rule ? [{ Name: "EventBusName", Value: one.rule.EventBusName }] : [];
    expect(one.rule.Name).toBe(`blue-${name}`);
    const found = watching(one.alarms, {
      Dimensions: [...onBus, { Name: "RuleName", Value: `blue-${name}` }],
      MetricName: "FailedInvocations",
      Namespace: "AWS/Events",
    });
    expect(found).toMatchObject([{ Threshold: 1, EvaluationPeriods: 1 }]);
  },
);

test("the setting limits how many calls of a worker run at a time, and an unknown worker is refused", () => {
  const [name, id] = ["workers.dispatch_event", "WorkersDispatchEventFunction"];
  const capped = (workerConcurrency: unknown) =>
    synthesize([spec("me.get")], { workerConcurrency }, undefined, workers);
  const functions = capped({ [name]: 200 }).findResources("AWS::Lambda::Function");
  const reserved = Object.entries(functions).map(([one, { Properties }]) => [
    one,
    Properties.ReservedConcurrentExecutions,
  ]);
  expect(reserved.filter(([, most]) => most !== undefined)).toEqual([[id, 200]]);
  expect(() => capped({ "workers.nobody": 1 })).toThrow("unknown workers: workers.nobody");
});
