import { expect, test } from "vitest";

import { routes } from "../../../../functions/routes.ts";
import { rightsOf } from "../../../../infra/cdk/constructs/functions.ts";
import { lambdas, workers } from "../../../../infra/entry-points.ts";
import type { ProviderName } from "../../../../shared/http/route.ts";
import {
  functionLogsId,
  functions,
  grantsOf,
  idOf,
  key,
  keyId,
  roleIdOf,
  roles,
  tableId,
  template,
} from "../../product-functions.ts";
import { onSecret, onSes } from "../../provider-grants.ts";
import { only, spec, synthesize } from "../synthesis.ts";

const reads = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"];
const writes = [
  ...reads,
  "dynamodb:PutItem",
  "dynamodb:UpdateItem",
  "dynamodb:DeleteItem",
  "dynamodb:ConditionCheckItem",
];

const writesLogs = [["logs:CreateLogStream", "logs:PutLogEvents"], { "Fn::GetAtt": [functionLogsId, "Arn"] }];
const notesCallers = [
  ["dynamodb:UpdateItem"],
  { "Fn::GetAtt": [tableId, "Arn"] },
  { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["TOKEN#*", "RATE#*"] } },
];
const onSecretsKey = (...actions: string[]) => [actions, { "Fn::GetAtt": [keyId, "Arn"] }];
const onFiles = (...actions: string[]) => [
  actions,
  { "Fn::Join": ["", [{ "Fn::GetAtt": ["FilesBucket", "Arn"] }, "/exports/*"]] },
];

const sends = onSes("identity/hosted-mail.example");
const registrarActions = [
  "route53domains:CheckDomainAvailability",
  "route53domains:CheckDomainTransferability",
  "route53domains:DeleteDomain",
  "route53domains:DisableDomainAutoRenew",
  "route53domains:DisableDomainTransferLock",
  "route53domains:EnableDomainTransferLock",
  "route53domains:GetDomainDetail",
  "route53domains:GetOperationDetail",
  "route53domains:ListOperations",
  "route53domains:ListPrices",
  "route53domains:RegisterDomain",
  "route53domains:RenewDomain",
  "route53domains:RetrieveDomainAuthCode",
  "route53domains:TransferDomain",
  "route53domains:UpdateDomainContact",
  "route53domains:UpdateDomainContactPrivacy",
  "route53domains:UpdateDomainNameservers",
];
/** Only the worker buys, renews and transfers names, and sets their nameservers. */
const payingActions = new Set(
  ["RegisterDomain", "RenewDomain", "TransferDomain", "UpdateDomainNameservers"].map(
    (name) => `route53domains:${name}`,
  ),
);
const zoneActions = [
  "route53:ChangeResourceRecordSets",
  "route53:CreateHostedZone",
  "route53:DeleteHostedZone",
  "route53:GetChange",
  "route53:ListHostedZonesByName",
  "route53:ListResourceRecordSets",
];
const onAny = (actions: string[]) => [actions, "*"];
const onTable = (actions: string[]) => [actions.toSorted(), { "Fn::GetAtt": [tableId, "Arn"] }];

/** The grant for each provider that a function for requests can use. `[]` if the provider needs no right in AWS. */
const routeGrants: Record<ProviderName, unknown[]> = {
  secrets: onSecretsKey("kms:Decrypt", "kms:Encrypt"),
  payments: onSecret("mail/stripe"),
  files: onFiles("s3:GetObject"),
  registrar: onAny(registrarActions.filter((action) => !payingActions.has(action))),
  dns: onAny(zoneActions),
  mail: sends,
  mail_servers: onSecret("mail/servers"),
};
const workerGrants: typeof routeGrants = {
  ...routeGrants,
  secrets: onSecretsKey("kms:Decrypt", "kms:Encrypt"),
  files: onFiles("s3:AbortMultipartUpload", "s3:PutObject"),
  registrar: onAny(registrarActions),
};

const grantsFor = (uses: readonly ProviderName[], grants: typeof routeGrants): unknown[][] =>
  uses.map((name) => grants[name]).filter((grant) => grant.length > 0);

test.each(lambdas)(
  "$name may use what it declares, note the requests and the token of its caller, and write its log, and nothing else",
  ({ name, access, uses = [] }) => {
    const grants = { none: [], read: [onTable(reads)], write: [onTable(writes)] };
    const own = access === "read" ? { ...routeGrants, secrets: onSecretsKey("kms:Decrypt") } : routeGrants;
    expect(grantsOf(idOf(name))).toEqual([
      writesLogs,
      ...grants[access],
      ...grantsFor(uses, own),
      ...(access === "read" ? [notesCallers] : []),
    ]);
  },
);

const deadLettersOf = (name: string): string => {
  const prefix = `${name.replaceAll(/[._]/g, "")}deadletters`;
  return Object.keys(template.findResources("AWS::SQS::Queue")).find((id) => id.startsWith(prefix)) ?? "";
};
const sendsDeadLetters = (name: string) => [["sqs:SendMessage"], { "Fn::GetAtt": [deadLettersOf(name), "Arn"] }];

test.each(workers.filter(({ source }) => source === "changes"))(
  "$name may read the table's stream, put events on the one bus, write its dead letters and its log, and nothing else",
  ({ name }) => {
    const stream = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
    expect(grantsOf(idOf(name))).toEqual([
      writesLogs,
      [stream.map((action) => `dynamodb:${action}`), { "Fn::GetAtt": [tableId, "StreamArn"] }],
      [["events:PutEvents"], { "Fn::GetAtt": [only(template, "AWS::Events::EventBus")[0], "Arn"] }],
      sendsDeadLetters(name),
    ]);
  },
);

test.each(workers.filter(({ source }) => source !== "changes"))(
  "$name may use the table and the providers as it declares, and write its dead letters and its log, and nothing else",
  ({ name, access, keys, readKeys, opensOnly, uses = [] }) => {
    const own = opensOnly ? { ...workerGrants, secrets: onSecretsKey("kms:Decrypt") } : workerGrants;
    const actions = { none: [], read: reads, write: writes }[access];
    const bound = (to: readonly string[]) => [{ "ForAllValues:StringLike": { "dynamodb:LeadingKeys": to } }];
    const onlyWrites = actions.filter((action) => !reads.includes(action));
    const table =
      keys && readKeys
        ? [
            [...onTable(reads), ...bound([...keys, ...readKeys])],
            [...onTable(onlyWrites), ...bound(keys)],
          ]
        : [[...onTable(actions), ...(keys ? bound(keys) : [])]];
    expect(grantsOf(idOf(name))).toEqual([writesLogs, ...table, ...grantsFor(uses, own), sendsDeadLetters(name)]);
  },
);

test("the key of the secrets is a multi-Region key, rotates, has the name of its stage, and outlives the stack", () => {
  expect(key).toMatchObject({
    DeletionPolicy: "Retain",
    UpdateReplacePolicy: "Retain",
    Properties: { EnableKeyRotation: true, MultiRegion: true },
  });
  // An existing key cannot become a multi-Region key. So this key has another logical id and alias than the key before.
  expect(keyId).toMatch(/^SealingKey/);
  expect(only(template, "AWS::KMS::Alias")[1]["Properties"]).toEqual({
    AliasName: "alias/hosted-mail/dev/sealing",
    TargetKeyId: { "Fn::GetAtt": [keyId, "Arn"] },
  });
});

test("functions open secrets of a former key, and seal with the present key only", () => {
  const former = "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-0000-0000-000000000000";
  const specs = [spec("me.get", { access: "write", uses: ["secrets"] })];
  const made = synthesize(specs, { formerSecretsKeyArns: former });
  const statements = Object.values(made.findResources("AWS::IAM::Role"))
    .flatMap((role) => role["Properties"].Policies ?? [])
    .flatMap((policy) => policy.PolicyDocument.Statement);
  const [presentKeyId] = only(made, "AWS::KMS::Key");
  expect(statements.filter(({ Action }) => JSON.stringify(Action).includes("kms:"))).toEqual([
    {
      Action: ["kms:Decrypt", "kms:Encrypt"],
      Effect: "Allow",
      Resource: { "Fn::GetAtt": [presentKeyId, "Arn"] },
    },
    { Action: "kms:Decrypt", Effect: "Allow", Resource: former },
  ]);
});

test("a function with no access to the table has no grant on it", () => {
  expect(grantsOf("DnsRecordsSearchFunction")).toEqual([writesLogs]);
});

test("no role has a managed policy, and no policy is attached from outside a role", () => {
  expect(Object.values(roles).filter((role) => "ManagedPolicyArns" in role["Properties"])).toEqual([]);
  expect(template.findResources("AWS::IAM::Policy")).toEqual({});
  expect(template.findResources("AWS::IAM::ManagedPolicy")).toEqual({});
});

test("only Lambda may assume the role of a function, and functions share a role only if they declare the same rights", () => {
  const rights = new Map(lambdas.map((one) => [idOf(one.name), rightsOf(one)]));
  const sharing = Map.groupBy(Object.keys(functions), roleIdOf);
  for (const [id, together] of sharing) {
    const distinct = new Set(together.map((name) => rights.get(name) ?? "none"));
    expect([id, distinct.size]).toEqual([id, 1]);
    expect(roles[id]?.["Properties"].AssumeRolePolicyDocument.Statement).toEqual([
      { Action: "sts:AssumeRole", Effect: "Allow", Principal: { Service: "lambda.amazonaws.com" } },
    ]);
  }
});

test("every Lambda and every worker has a function with its name, on Node 24 and arm64, that logs to the shared group", () => {
  expect(Object.keys(functions).toSorted()).toEqual(
    [...[...lambdas, ...workers].map(({ name }) => idOf(name)), "DnsRecordsSearchFunction"].toSorted(),
  );
  for (const [id, { Properties }] of Object.entries(functions)) {
    expect(Properties).toMatchObject({
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      Handler: "init.handler",
      // The function that hashes the passwords of up to 100 mailboxes has a whole processor.
      MemorySize: id === "MailboxesBulkFunction" ? 1_769 : 512,
      LoggingConfig: { LogGroup: { Ref: functionLogsId }, LogFormat: "JSON" },
    });
  }
});

test("the time-outs in seconds are: exports 900, billing day and migrations 300, other workers 60, workers that send mail 30, code mode and bulk 29, writes 25, functions that call another service 20, all others 10", () => {
  const seconds = new Map([
    ...workers.map(({ name }): [string, number] => [idOf(name), 60]),
    ...routes.filter(({ limit }) => limit === "outbound").map(({ name }): [string, number] => [idOf(name), 20]),
    ...routes.filter(({ lambda: { uses } }) => uses.length > 0).map(({ name }): [string, number] => [idOf(name), 20]),
    ...routes
      .filter(({ access, lambda: { table = access } }) => table === "write")
      .map(({ name }): [string, number] => [idOf(name), 25]),
    ["CodeFunction", 29],
    ["MailboxesBulkFunction", 29],
    ["MailUsageFunction", 25],
    ["MailEventsFunction", 25],
    ["WorkersPaymentWebhookFunction", 20],
    ["WorkersRunBillingDayFunction", 300],
    ["WorkersMigrateRowsFunction", 300],
    ["WorkersMakeMailboxExportFunction", 900],
    ["WorkersSendVerificationFunction", 30],
    ["WorkersSendInvitationFunction", 30],
    ["WorkersSendNoticesFunction", 30],
  ]);
  for (const [id, { Properties }] of Object.entries(functions)) {
    expect([id, Properties.Timeout]).toEqual([id, seconds.get(id) ?? 10]);
  }
});

test("functions get the table, the issuers, the log level, the origins, the zones and the API's address as variables", () => {
  const issuers = [
    { issuer: "https://id.example", audience: ["api"], jwksUri: "https://id.example/keys", algorithms: ["ES256"] },
  ];
  const allowedOrigins = ["https://a.example", "https://b.example"];
  const publicUrl = "https://api.example";
  const settings = { issuers, logLevel: "error", allowedOrigins, mailZone: "mail.example", publicUrl };
  const [, configured] = only(synthesize([spec("me.get")], settings), "AWS::Lambda::Function");
  expect(configured["Properties"].Environment.Variables).toEqual({
    TABLE_NAME: { Ref: tableId },
    NS_ZONE: "dns.hosted-mail.example",
    MAIL_ZONE: "mail.example",
    ISSUERS: JSON.stringify(issuers),
    FEATURES_OFF: "payments",
    LOG_LEVEL: "error",
    ALLOWED_ORIGINS: "https://a.example,https://b.example",
    PUBLIC_URL: publicUrl,
  });
});

test("all functions get the blocklists, and the functions for mail servers get the wait after a wrong password", () => {
  const settings = { blocklistZones: ["dbl.example.org", "bl.example.net"], mailLoginWaitSeconds: 0 };
  const specs = [spec("me.get"), spec("mail.auth", { uses: ["mail_servers"] })];
  const variables = (id: string, given: Record<string, unknown>) =>
    synthesize(specs, given).findResources("AWS::Lambda::Function")[`${id}Function`]?.["Properties"].Environment
      .Variables;
  expect(variables("MeGet", settings)).toMatchObject({ BLOCKLIST_ZONES: "dbl.example.org,bl.example.net" });
  expect(variables("MailAuth", settings)).toMatchObject({ MAIL_LOGIN_WAIT: "0" });
  expect(variables("MeGet", settings)).not.toHaveProperty("MAIL_LOGIN_WAIT");
  expect(variables("MailAuth", {})).not.toHaveProperty("BLOCKLIST_ZONES");
});
