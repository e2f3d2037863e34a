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

test("the table keeps its data: recoverable, encrypted, protected, kept when the stack goes", () => {
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

test("both log groups forget after the configured days", () => {
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
  // With a dimension it would be the metric of one function.
  expect(watching[0]).not.toHaveProperty("Dimensions");
});

test("the gateway's 5xx answers and its slowest ones are watched", () => {
  const alarms = Object.values(hundred.findResources("AWS::CloudWatch::Alarm")).map((alarm) => alarm["Properties"]);
  const [apiId] = only(hundred, "AWS::ApiGatewayV2::Api");
  const Dimensions = [{ Name: "ApiId", Value: { Ref: apiId } }];
  expect(alarms.filter(({ Namespace }) => Namespace === "AWS/ApiGateway")).toEqual([
    expect.objectContaining({ MetricName: "5xx", Dimensions }),
    expect.objectContaining({ MetricName: "Latency", ExtendedStatistic: "p99", Threshold: 5_000, Dimensions }),
  ]);
});

test("without a secret of mail servers, what they are answered sets off no alarm", () => {
  const stack = synthesize([spec("me.get")]);
  const alarms = Object.values(stack.findResources("AWS::CloudWatch::Alarm")).map((alarm) => alarm["Properties"]);
  const errors = alarms.find(({ AlarmName }) => AlarmName === "hosted-mail-dev.ServerErrors");
  const metrics = errors?.Metrics as { Expression?: string; MetricStat?: { Metric: { MetricName: string } } }[];
  expect(metrics.map(({ Expression, MetricStat }) => Expression ?? MetricStat?.Metric.MetricName)).toEqual([
    "m0 - FILL(m1, 0)",
    "5xx",
    "MailDoorsOff",
  ]);
  const filters = Object.values(stack.findResources("AWS::Logs::MetricFilter")).map((one) => one["Properties"]);
  const counted = filters.find(({ MetricTransformations: [{ MetricName }] }) => MetricName === "MailDoorsOff");
  expect(counted?.FilterPattern).toBe('{ ($.route = "mail.*") && ($.status = 503) }');
});

test("alarms mail the configured address, and CloudWatch of this account is allowed to publish them", () => {
  const [topicId] = only(hundred, "AWS::SNS::Topic");
  for (const alarm of Object.values(hundred.findResources("AWS::CloudWatch::Alarm"))) {
    expect(alarm["Properties"].AlarmActions).toEqual([{ Ref: topicId }]);
  }
  const [, subscription] = only(hundred, "AWS::SNS::Subscription");
  expect(subscription["Properties"]).toMatchObject({ Protocol: "email", Endpoint: "ops@example.com" });
  const [, policy] = only(hundred, "AWS::SNS::TopicPolicy");
  expect(policy["Properties"].PolicyDocument.Statement).toContainEqual(
    expect.objectContaining({
      Action: "sns:Publish",
      Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
      Effect: "Allow",
      Principal: { Service: "cloudwatch.amazonaws.com" },
      Resource: { Ref: topicId },
    }),
  );
});

test("without an address there is no topic, and the alarms stay", () => {
  const quiet = synthesize([spec("me.get")]);
  expect(quiet.findResources("AWS::SNS::Topic")).toEqual({});
  expect(Object.keys(quiet.findResources("AWS::CloudWatch::Alarm"))).toHaveLength(11);
});

test("a deployment says where the API, the bus and the table are", () => {
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
