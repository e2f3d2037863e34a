import { expect, test } from "vitest";

import { lambdas } from "../../infra/lambdas.ts";
import { workers } from "../../infra/workers.ts";
import { only, spec, synthesize } from "./synthesis.ts";

const reads = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"];
const writes = [
  ...reads,
  "dynamodb:PutItem",
  "dynamodb:UpdateItem",
  "dynamodb:DeleteItem",
  "dynamodb:ConditionCheckItem",
];

const template = synthesize([...lambdas, spec("dns_records.search", { access: "none" })], {}, undefined, workers);
const functions = template.findResources("AWS::Lambda::Function");
const roles = template.findResources("AWS::IAM::Role");
const [tableId] = only(template, "AWS::DynamoDB::Table");
const functionLogsId = Object.keys(template.findResources("AWS::Logs::LogGroup")).find((id) =>
  id.startsWith("FunctionLogs"),
);

type Statement = { Effect: string; Action: string | string[]; Resource: unknown; Condition?: unknown };

const roleIdOf = (functionId: string): string => functions[functionId]?.["Properties"].Role["Fn::GetAtt"][0];

/** Everything the function with this logical id may do, as [actions, resource, condition if any]. */
const grantsOf = (functionId: string): unknown[][] =>
  roles[roleIdOf(functionId)]?.["Properties"].Policies.flatMap(
    (policy: { PolicyDocument: { Statement: Statement[] } }) =>
      policy.PolicyDocument.Statement.map(({ Action, Resource, Condition }) => [
        [Action].flat().toSorted(),
        Resource,
        ...(Condition === undefined ? [] : [Condition]),
      ]),
  );

const idOf = (name: string): string =>
  `${name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")}Function`;

const writesLogs = [["logs:CreateLogStream", "logs:PutLogEvents"], { "Fn::GetAtt": [functionLogsId, "Arn"] }];
const notesTokenUse = [
  ["dynamodb:UpdateItem"],
  { "Fn::GetAtt": [tableId, "Arn"] },
  { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["TOKEN#*"] } },
];
const onTable = (actions: string[]) => [actions.toSorted(), { "Fn::GetAtt": [tableId, "Arn"] }];

test.each(lambdas)(
  "$name may use the table as its access says, note a token's use, write its log, and nothing else",
  ({ name, access }) => {
    const grants = { none: [], read: [onTable(reads), notesTokenUse], write: [onTable(writes)] };
    expect(grantsOf(idOf(name))).toEqual([writesLogs, ...grants[access]]);
  },
);

const arnOf = (type: string) => ({ "Fn::GetAtt": [only(template, type)[0], "Arn"] });

test.each(workers.filter(({ source }) => source === "changes"))(
  "$name may read the table's stream, put events on the one bus, write its dead letters and its log, and nothing else",
  ({ name }) => {
    const stream = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
    expect(grantsOf(idOf(name))).toEqual([
      writesLogs,
      [stream.map((action) => `dynamodb:${action}`), { "Fn::GetAtt": [tableId, "StreamArn"] }],
      [["events:PutEvents"], arnOf("AWS::Events::EventBus")],
      [["sqs:SendMessage"], arnOf("AWS::SQS::Queue")],
    ]);
  },
);

test("a function with no access to the table has no grant on it", () => {
  expect(grantsOf("DnsRecordsSearchFunction")).toEqual([writesLogs]);
});

test("no role has a managed policy, and no policy is attached from outside a role", () => {
  expect(Object.values(roles).filter((role) => "ManagedPolicyArns" in role["Properties"])).toEqual([]);
  expect(template.findResources("AWS::IAM::Policy")).toEqual({});
  expect(template.findResources("AWS::IAM::ManagedPolicy")).toEqual({});
});

test("only Lambda may take on a function's role, and no two functions share one", () => {
  const roleIds = Object.keys(functions).map(roleIdOf);
  expect(new Set(roleIds).size).toBe(roleIds.length);
  for (const id of roleIds) {
    expect(roles[id]?.["Properties"].AssumeRolePolicyDocument.Statement).toEqual([
      { Action: "sts:AssumeRole", Effect: "Allow", Principal: { Service: "lambda.amazonaws.com" } },
    ]);
  }
});

test("every Lambda and worker is a function of its name, on Node 24 and arm64, that logs to the shared group", () => {
  expect(Object.keys(functions).toSorted()).toEqual(
    [...[...lambdas, ...workers].map(({ name }) => idOf(name)), "DnsRecordsSearchFunction"].toSorted(),
  );
  for (const { Properties } of Object.values(functions)) {
    expect(Properties).toMatchObject({
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      Handler: "index.handler",
      MemorySize: 512,
      LoggingConfig: { LogGroup: { Ref: functionLogsId }, LogFormat: "JSON" },
    });
  }
});

test("code mode has 29 seconds, a worker 60, every other function 10", () => {
  const workerIds = new Set(workers.map(({ name }) => idOf(name)));
  for (const [id, { Properties }] of Object.entries(functions)) {
    expect([id, Properties.Timeout]).toEqual([id, id === "CodeFunction" ? 29 : workerIds.has(id) ? 60 : 10]);
  }
});

test("functions are told the table, the issuers, the log level and the origins", () => {
  const issuers = [
    { issuer: "https://id.example", audience: ["api"], jwksUri: "https://id.example/keys", algorithms: ["ES256"] },
  ];
  const settings = { issuers, logLevel: "error", allowedOrigins: ["https://a.example", "https://b.example"] };
  const [, configured] = only(synthesize([spec("me.get")], settings), "AWS::Lambda::Function");
  expect(configured["Properties"].Environment.Variables).toEqual({
    TABLE_NAME: { Ref: tableId },
    ISSUERS: JSON.stringify(issuers),
    LOG_LEVEL: "error",
    ALLOWED_ORIGINS: "https://a.example,https://b.example",
  });
});
