import { expect, test } from "vitest";

import { workers } from "../../infra/workers.ts";
import { only, spec, synthesize } from "./synthesis.ts";

const settings = { stage: "blue", alarmEmail: "ops@example.com" };

/** What the stack has for one worker, when it is the only one. */
function resourcesOf(source: "events" | "schedule") {
  const template = synthesize(
    [spec("me.get")],
    settings,
    undefined,
    workers.filter((worker) => worker.source === source),
  );
  const [queueId, queue] = only(template, "AWS::SQS::Queue");
  const [ruleId, rule] = only(template, "AWS::Events::Rule");
  const alarms = Object.values(template.findResources("AWS::CloudWatch::Alarm")).map((alarm) => alarm["Properties"]);
  return { template, queueId, queue: queue["Properties"], ruleId, rule: rule["Properties"], alarms };
}

const events = resourcesOf("events");
const schedule = resourcesOf("schedule");
const arnOf = (id: string) => ({ "Fn::GetAtt": [id, "Arn"] });
const both = [
  { name: "workers.dispatch_event", functionId: "WorkersDispatchEventFunction", ...events },
  { name: "workers.retry_deliveries", functionId: "WorkersRetryDeliveriesFunction", ...schedule },
];

test("every event of ours on the stage's bus, and nothing else, is handed to the dispatcher", () => {
  expect(events.rule).toMatchObject({
    EventBusName: { Ref: only(events.template, "AWS::Events::EventBus")[0] },
    EventPattern: { source: ["hosted-mail"] },
    State: "ENABLED",
    Targets: [{ Arn: arnOf("WorkersDispatchEventFunction") }],
  });
  expect(events.rule).not.toHaveProperty("ScheduleExpression");
});

test("the sweep runs every minute, of the default bus", () => {
  expect(schedule.rule).toMatchObject({
    ScheduleExpression: "rate(1 minute)",
    State: "ENABLED",
    Targets: [{ Arn: arnOf("WorkersRetryDeliveriesFunction") }],
  });
  expect(schedule.rule).not.toHaveProperty("EventPattern");
  expect(schedule.rule).not.toHaveProperty("EventBusName");
});

test.each([
  { of: "an event", ...events, seconds: 6 * 3600, handover: 60, run: 2 },
  { of: "a minute's run", ...schedule, seconds: 60, handover: 0, run: 0 },
])(
  "$of is retried $handover times when Lambda does not take it, $run times when it fails, for $seconds seconds",
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

test.each(both)("only its rule may call $name and put dead letters into its queue", (one) => {
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

test.each(both)("dead letters of $name are encrypted and kept for 14 days", ({ queue }) => {
  expect(queue).toMatchObject({ SqsManagedSseEnabled: true, MessageRetentionPeriod: 14 * 86_400 });
});

test.each(both)("one dead letter of $name raises an alarm that mails", ({ name, template, queueId, alarms }) => {
  expect(alarms).toContainEqual(
    expect.objectContaining({
      AlarmDescription: expect.stringContaining(name),
      Namespace: "AWS/SQS",
      MetricName: "ApproximateNumberOfMessagesVisible",
      Dimensions: [{ Name: "QueueName", Value: { "Fn::GetAtt": [queueId, "QueueName"] } }],
      Threshold: 1,
      AlarmActions: [{ Ref: only(template, "AWS::SNS::Topic")[0] }],
    }),
  );
});

test.each(both)("a rule that could not call $name raises an alarm, found by the rule's name", ({ name, ...one }) => {
  const onBus = "EventBusName" in one.rule ? [{ Name: "EventBusName", Value: one.rule.EventBusName }] : [];
  expect(one.rule.Name).toBe(`blue-${name}`);
  expect(one.alarms).toContainEqual(
    expect.objectContaining({
      Namespace: "AWS/Events",
      MetricName: "FailedInvocations",
      Dimensions: [...onBus, { Name: "RuleName", Value: `blue-${name}` }],
      Statistic: "Sum",
      Threshold: 1,
    }),
  );
});

test.each(both)("a crash of $name raises the alarm that every function has", ({ name, alarms }) => {
  const watched = alarms.filter(({ AlarmDescription }) => AlarmDescription.startsWith("Crash"));
  expect(watched.map(({ AlarmDescription }) => AlarmDescription).join()).toContain(name);
});
