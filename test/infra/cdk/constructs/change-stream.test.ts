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

test("the worker is told the stage's own event bus, and a deployment says its name", () => {
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

test("a change that fails is found by bisection, tried a bounded number of times, and then a dead letter", () => {
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

test("one dead letter, and changes older than five minutes, raise an alarm that mails", () => {
  const actions = [{ Ref: only(template, "AWS::SNS::Topic")[0] }];
  expect(alarms).toContainEqual(
    expect.objectContaining({
      Namespace: "AWS/SQS",
      MetricName: "ApproximateNumberOfMessagesVisible",
      Dimensions: [{ Name: "QueueName", Value: { "Fn::GetAtt": [queueId, "QueueName"] } }],
      Threshold: 1,
      AlarmActions: actions,
    }),
  );
  expect(alarms).toContainEqual(
    expect.objectContaining({
      Namespace: "AWS/Lambda",
      MetricName: "IteratorAge",
      Dimensions: [{ Name: "FunctionName", Value: { Ref: functionId } }],
      Threshold: 300_000,
      Statistic: "Maximum",
      AlarmActions: actions,
    }),
  );
});
