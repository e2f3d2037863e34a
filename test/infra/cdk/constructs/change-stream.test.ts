import { expect, test } from "vitest";

import { workers } from "../../../../infra/entry-points.ts";
import { only, spec, synthesize } from "../synthesis.ts";

const settings = { stage: "blue", alarmEmail: "ops@example.com" };
const publishers = workers.filter(({ source }) => source === "changes");
const template = synthesize([spec("me.get")], settings, undefined, publishers);
const [tableId] = only(template, "AWS::DynamoDB::Table");
const [busId, bus] = only(template, "AWS::Events::EventBus");
const [queueId, queue] = only(template, "AWS::SQS::Queue");
const functionId = "WorkersPublishChangesFunction";
const alarms = Object.values(template.findResources("AWS::CloudWatch::Alarm")).map((alarm) => alarm["Properties"]);

test("the worker gets the name of the stage's own event bus, and an output of the stack has the name", () => {
  expect(bus["Properties"].Name).toBe("hosted-mail-blue");
  expect(template.findResources("AWS::Lambda::Function")[functionId]).toMatchObject({
    Properties: { Environment: { Variables: { EVENT_BUS: { Ref: busId }, LOG_LEVEL: "info" } } },
  });
  expect(Object.values(template.findOutputs("EventBusName"))).toMatchObject([{ Value: { Ref: busId } }]);
});

test("only new rows of changes reach the worker, in order, in batches of up to 100 without waiting", () => {
  const [, { Properties }] = only(template, "AWS::Lambda::EventSourceMapping");
  expect(Properties).toMatchObject({
    FunctionName: { Ref: functionId },
    EventSourceArn: { "Fn::GetAtt": [tableId, "StreamArn"] },
    StartingPosition: "TRIM_HORIZON",
    BatchSize: 100,
    MaximumBatchingWindowInSeconds: 0,
    ParallelizationFactor: 1,
  });
  expect(Properties.FilterCriteria.Filters.map(({ Pattern }: { Pattern: string }) => JSON.parse(Pattern))).toEqual([
    { eventName: ["INSERT"], dynamodb: { Keys: { SK: { S: [{ prefix: "JOURNAL#changes#ENTRY#" }] } } } },
  ]);
});

test("a failing change is found by bisection, tried again up to six times, and then becomes a dead letter", () => {
  const [, { Properties }] = only(template, "AWS::Lambda::EventSourceMapping");
  expect(Properties).toMatchObject({
    BisectBatchOnFunctionError: true,
    FunctionResponseTypes: ["ReportBatchItemFailures"],
    MaximumRetryAttempts: 6,
    MaximumRecordAgeInSeconds: 6 * 3600,
    DestinationConfig: { OnFailure: { Destination: { "Fn::GetAtt": [queueId, "Arn"] } } },
  });
});

test("dead letters are encrypted, kept for 14 days, and sent over TLS only", () => {
  expect(queue["Properties"]).toMatchObject({ SqsManagedSseEnabled: true, MessageRetentionPeriod: 14 * 86_400 });
  const [, policy] = only(template, "AWS::SQS::QueuePolicy");
  expect(policy["Properties"].PolicyDocument.Statement).toEqual([
    expect.objectContaining({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
  ]);
});

test("a dead letter, or a change older than five minutes, sets off the alarm that events are stuck", () => {
  const watched = (id: string) =>
    alarms.flatMap(({ AlarmName, Threshold, Metrics = [] }) =>
      AlarmName === `hosted-mail-blue.${id}` ? [[Threshold, Metrics[0].MetricStat]] : [],
    );
  expect(watched("Events.dead_letters")).toMatchObject([
    [
      1,
      {
        Stat: "Maximum",
        Metric: {
          MetricName: "ApproximateNumberOfMessagesVisible",
          Dimensions: [{ Name: "QueueName", Value: { "Fn::GetAtt": [queueId, "QueueName"] } }],
        },
      },
    ],
  ]);
  expect(watched("Events.iterator_age")).toMatchObject([
    [
      300_000,
      {
        Stat: "Maximum",
        Metric: { MetricName: "IteratorAge", Dimensions: [{ Name: "FunctionName", Value: { Ref: functionId } }] },
      },
    ],
  ]);
  const composite = Object.values(template.findResources("AWS::CloudWatch::CompositeAlarm"))
    .map((one) => one["Properties"])
    .find(({ AlarmName }) => AlarmName === "hosted-mail-blue.EventsStuck");
  const rule = JSON.stringify(composite?.AlarmRule);
  for (const child of ["Eventsdeadletters", "Eventsiteratorage"]) expect(rule).toContain(child);
});
