import { expect, test } from "vitest";

import { workers } from "../../../infra/entry-points.ts";
import { type Stack, classOf, manySpecs, only, spec, synthesize } from "./synthesis.ts";

const hundred = synthesize(
  manySpecs(100),
  { alarmEmail: "ops@example.com", mailSecretName: "mail/servers" },
  undefined,
  workers,
);
const [, table] = only(hundred, "AWS::DynamoDB::Table");

test("100 functions and the workers fit into one stack with room to grow", () => {
  const { Resources } = hundred.toJSON();
  expect(Object.keys(hundred.findResources("AWS::Lambda::Function"))).toHaveLength(100 + workers.length);
  // CloudFormation takes templates of up to 500 resources and 1 MB.
  expect(Object.keys(Resources).length).toBeLessThan(400);
  expect(JSON.stringify(hundred.toJSON(), null, 1).length).toBeLessThan(700_000);
});

test("the table has point-in-time recovery, encryption and deletion protection, and outlives the stack", () => {
  expect(table).toMatchObject({
    DeletionPolicy: "Retain",
    UpdateReplacePolicy: "Retain",
    Properties: {
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      DeletionProtectionEnabled: true,
      SSESpecification: { SSEEnabled: true },
    },
  });
});

test("the table has string keys PK and SK, on-demand capacity, a stream of both images and a TTL", () => {
  expect(table["Properties"]).toMatchObject({
    AttributeDefinitions: [
      { AttributeName: "PK", AttributeType: "S" },
      { AttributeName: "SK", AttributeType: "S" },
    ],
    KeySchema: [
      { AttributeName: "PK", KeyType: "HASH" },
      { AttributeName: "SK", KeyType: "RANGE" },
    ],
    BillingMode: "PAY_PER_REQUEST",
    StreamSpecification: { StreamViewType: "NEW_AND_OLD_IMAGES" },
    TimeToLiveSpecification: { AttributeName: "ttl", Enabled: true },
  });
});

test("a restored table takes the place of the stack's own table everywhere", () => {
  const restored = synthesize([spec("me.get")], { restoredTable: "blue-restored", backup: {} }, undefined, workers);
  const [id, { Properties, DeletionPolicy }] = only(restored, "AWS::DynamoDB::Table");
  const [ownId, own] = only(hundred, "AWS::DynamoDB::Table");
  expect(id).not.toBe(ownId);
  expect(DeletionPolicy).toBe("Retain");
  expect(Properties).toEqual({ ...own["Properties"], TableName: "blue-restored" });
  expect(JSON.stringify(restored.toJSON())).not.toContain(`"${ownId}"`);
  expect(restored.findOutputs("TableName")["TableName"]?.["Value"]).toEqual({ Ref: id });
});

test("settings that make an environment larger than Lambda allows are refused", () => {
  const allowedOrigins = Array.from({ length: 120 }, (_, index) => `https://customer-${index}.example.com`);
  expect(() => synthesize([spec("me.get")], { allowedOrigins })).toThrow(
    /The environment of me\.get has about \d+ bytes, and Lambda allows 4096\. .+ largest value is ALLOWED_ORIGINS\./,
  );
});

test("both log groups delete their lines after the configured days", () => {
  const groups = synthesize([spec("me.get")], { logRetentionDays: "90" }).findResources("AWS::Logs::LogGroup");
  expect(Object.values(groups).map((group) => group["Properties"].RetentionInDays)).toEqual([90, 90]);
});

test.each(["Errors", "Throttles"])("one alarm watches the %s of all functions together", (MetricName) => {
  const alarms = Object.values(hundred.findResources("AWS::CloudWatch::Alarm")).map((alarm) => alarm["Properties"]);
  const watching = alarms.filter((alarm) => alarm.MetricName === MetricName);
  expect(watching).toEqual([
    expect.objectContaining({
      AlarmName: `hosted-mail-dev.${MetricName}`,
      Namespace: "AWS/Lambda",
      Statistic: "Sum",
      Period: 300,
      Threshold: 1,
      ComparisonOperator: "GreaterThanOrEqualToThreshold",
      EvaluationPeriods: 1,
    }),
  ]);
  // With a dimension, the alarm would watch only one function.
  expect(watching[0]).not.toHaveProperty("Dimensions");
});

test("the outputs of the stack name the API, the bus, the table, the bucket, the key and the log groups", () => {
  expect(Object.keys(hundred.findOutputs("*")).toSorted()).toEqual([
    "AccessLogGroup",
    "ApiId",
    "ApiUrl",
    "EventBusName",
    "FilesBucketName",
    "FunctionLogGroup",
    "SecretsKeyId",
    "TableName",
  ]);
});

test.each([
  [
    "AwsSolutions-IAM5",
    (stack: Stack) =>
      new (classOf(stack, "CfnRole"))(stack, "Planted", {
        assumeRolePolicyDocument: {},
        policies: [
          {
            policyName: "all",
            policyDocument: { Statement: [{ Effect: "Allow", Action: "dynamodb:*", Resource: "*" }] },
          },
        ],
      }),
  ],
  ["AwsSolutions-S1", (stack: Stack) => new (classOf(stack, "CfnBucket"))(stack, "Planted")],
])("synthesis fails on a finding of cdk-nag: %s", (rule, plant) => {
  expect(() => synthesize([spec("me.get")], {}, plant)).toThrow(rule);
});
