import { expect, test } from "vitest";

import { functionId } from "../../../../infra/cdk/constructs/functions.ts";
import { lambdas, workers } from "../../../../infra/entry-points.ts";
import { settings as example } from "../../../../infra/stages/example.ts";
import { only, synthesize } from "../synthesis.ts";

/** The whole product with all that a stage can have, traces too. */
const template = synthesize(lambdas, { ...example, trace: true }, undefined, workers);

type Statement = { Effect: string; Action: string | string[]; Resource: unknown; Condition?: object };
type Policy = { PolicyName: string; PolicyDocument: { Statement: Statement[] } };

const roles = template.findResources("AWS::IAM::Role");

/**
 * Every statement of every role, with whose and of which of its policies it is. The role of AWS Backup has none: AWS's
 * own policy is attached to it (backup.test.ts).
 */
const statements = Object.entries(roles).flatMap(([role, { Properties }]) =>
  ((Properties.Policies ?? []) as Policy[]).flatMap(({ PolicyName, PolicyDocument }) =>
    PolicyDocument.Statement.map((statement) => ({ role, policy: PolicyName, ...statement })),
  ),
);

const declared = [...lambdas, ...workers].map(({ name, access, uses = [] }) => ({ name, access, uses }));
const functionsOf = template.findResources("AWS::Lambda::Function");
const roleOf = (name: string): string => functionsOf[functionId(name)]?.["Properties"].Role["Fn::GetAtt"][0] as string;

/** Why a policy is not about named resources only. */
const reasons: Record<string, string> = {
  registrar: "Route 53 Domains has no resources to name.",
  dns: "Route 53 makes and names a hosted zone when a domain comes.",
  trace: "X-Ray has no resources to name.",
  files: "Each file is an object of its own, under one of two prefixes.",
  payments: "Secrets Manager ends a secret's ARN with six characters of its own.",
  mail_servers: "Secrets Manager ends a secret's ARN with six characters of its own.",
  secret: "Secrets Manager ends a secret's ARN with six characters of its own.",
};

test("the whole product with all that a stage can have is one stack with 80 resources and 200 KB to spare", () => {
  const all = template.toJSON();
  expect(Object.keys(all["Resources"]).length).toBeLessThanOrEqual(420);
  // As the stack writes it: without indentation.
  expect(JSON.stringify(all).length).toBeLessThan(800_000);
});

test("no statement has a wildcard among its actions, denies, or excepts anything", () => {
  expect(statements.length).toBeGreaterThan(150);
  for (const { role, Effect, Action, ...rest } of statements) {
    expect([role, Effect]).toEqual([role, "Allow"]);
    for (const action of [Action].flat()) expect(action).toMatch(/^[a-z0-9]+:[A-Za-z]+$/);
    expect(Object.keys(rest)).not.toEqual(expect.arrayContaining(["NotAction"]));
    expect(Object.keys(rest)).not.toEqual(expect.arrayContaining(["NotResource"]));
  }
});

test("only the policies with a documented reason have a wildcard among their resources", () => {
  const withWildcard = statements.filter(({ Resource }) => /[*?]/.test(JSON.stringify(Resource)));
  expect([...new Set(withWildcard.map(({ policy }) => policy))].toSorted()).toEqual(Object.keys(reasons).toSorted());
});

test("a resource that is not a wildcard is one of this stack or of a name in the configuration", () => {
  for (const { policy, Resource } of statements) {
    if (policy in reasons) continue;
    for (const resource of [Resource].flat()) {
      const text = JSON.stringify(resource);
      const isOwn = /^\{"Fn::GetAtt":\["\w+","(?:Arn|StreamArn)"\]\}$/.test(text);
      const isNamed = text.includes(':ses:"') && /:(?:identity|configuration-set)\/[\w.-]+"/.test(text);
      const isFormerKey = example.formerSecretsKeyArns?.includes(String(resource)) === true;
      expect([text, isOwn || isNamed || isFormerKey]).toEqual([text, true]);
    }
  }
});

const reads = ["BatchGetItem", "GetItem", "Query"];
const writes = ["BatchGetItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"];
const actionsOn = (role: string, policy: string): string[] =>
  statements
    .filter((one) => one.role === role && one.policy === policy)
    .flatMap(({ Action }) => Action)
    .map((action) => action.replace("dynamodb:", ""))
    .toSorted();

test.each(declared)(
  "$name: $access of the table is what its role allows, checks of conditions in transactions included",
  ({ name, access }) => {
    expect(actionsOn(roleOf(name), "table")).toEqual(
      { none: [], read: reads, append: ["PutItem"], write: writes }[access],
    );
  },
);

test("nobody may scan, describe, change or delete the table, or read it by PartiQL", () => {
  const used = new Set(statements.flatMap(({ Action }) => Action).filter((action) => action.startsWith("dynamodb:")));
  const stream = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
  expect([...used].toSorted()).toEqual([...stream, ...writes].map((name) => `dynamodb:${name}`).toSorted());
});

test("the table has no index, and no statement names one", () => {
  const [, { Properties }] = only(template, "AWS::DynamoDB::Table");
  expect(Properties).not.toHaveProperty("GlobalSecondaryIndexes");
  expect(Properties).not.toHaveProperty("LocalSecondaryIndexes");
  expect(JSON.stringify(statements)).not.toContain("/index/");
});

test("each policy of a role is for a declaration of its function, and each declaration has a policy", () => {
  // A provider outside of AWS that needs no secret has no policy in any role.
  const granted = new Set(statements.map(({ policy }) => policy));
  for (const { name, access, uses } of declared) {
    const found = new Set(statements.filter(({ role }) => role === roleOf(name)).map(({ policy }) => policy));
    const isWorker = workers.some((worker) => worker.name === name);
    const more = [
      ...(access === "none" ? [] : ["table"]),
      ...(access === "read" && !isWorker ? ["callers"] : []),
      ...(isWorker && found.has("stream") ? ["stream"] : isWorker ? ["dead_letters"] : []),
    ];
    const providers = uses.filter((provider) => granted.has(provider));
    expect([name, [...found].toSorted()]).toEqual([name, ["logs", "trace", ...more, ...providers].toSorted()]);
  }
});

test.each([
  ["kms:Decrypt", "secrets"],
  ["s3:PutObject", "files"],
  ["route53domains:RegisterDomain", "registrar"],
  ["route53:ChangeResourceRecordSets", "dns"],
  ["ses:SendEmail", "mail"],
] as const)("only who declares its use may do %s", (action, provider) => {
  const may = statements.filter(({ Action }) => [Action].flat().includes(action)).map(({ role }) => role);
  const using = declared.filter(({ uses }) => uses.includes(provider)).map(({ name }) => roleOf(name));
  expect(using).toEqual(expect.arrayContaining(may));
  expect(may).not.toEqual([]);
});

test("a function that uses secrets may open them, also secrets of a former key, and seals only if it makes some", () => {
  const policies = statements.filter(({ policy }) => policy === "secrets");
  const sealing = policies.filter(({ Action }) => Action.includes("kms:Encrypt")).map(({ role }) => role);
  for (const { Action } of policies) expect([Action].flat()).toContain("kms:Decrypt");
  expect(sealing).toContain(roleOf("workers.advance_domains"));
  for (const name of ["mail.dkim", "mail.sender", "workers.dispatch_event", "workers.retry_deliveries"]) {
    expect(sealing).not.toContain(roleOf(name));
  }
  const isFormer = ({ Resource }: Statement) => [Resource].flat().some((one) => typeof one === "string");
  for (const one of policies.filter(isFormer)) expect(one.Action).toEqual("kms:Decrypt");
  const rolesOf = (list: readonly { role: string }[]) => new Set(list.map(({ role }) => role));
  expect(rolesOf(policies.filter(isFormer))).toEqual(rolesOf(policies));
});

test("conditions bind readers' notes, the web function and the workers of few kinds of items to their partitions, and nothing else", () => {
  const bound = statements.filter(({ Condition }) => Condition !== undefined);
  const keys = ({ Condition }: Statement) =>
    (Condition as Record<string, Record<string, string[]>>)["ForAllValues:StringLike"]?.["dynamodb:LeadingKeys"];
  const workerKeys = bound.filter(({ policy }) => policy === "table").map((one) => [one.role, keys(one)]);
  const wanted = workers.flatMap(({ name, keys }) => (keys ? [[roleOf(name), keys]] : []));
  const web = ["WebRole", ["ACCOUNT#*", "DOMAIN#*"]];
  expect(Object.fromEntries(workerKeys)).toEqual(Object.fromEntries([web, ...wanted]));
  const notes = bound.filter(({ policy }) => policy === "callers");
  expect(notes.map(keys)).toEqual(notes.map(() => ["TOKEN#*", "RATE#*"]));
  expect(notes).toHaveLength(bound.length - wanted.length - 1);
});
