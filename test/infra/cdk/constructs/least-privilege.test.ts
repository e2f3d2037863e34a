import { expect, test } from "vitest";

import { functionId } from "../../../../infra/cdk/constructs/functions.ts";
import { lambdas, workers } from "../../../../infra/entry-points.ts";
import { settings as example } from "../../../../infra/stages/example.ts";
import { only, synthesize } from "../synthesis.ts";

/** The whole product, with the settings of the example stage, and with traces. */
const template = synthesize(lambdas, { ...example, trace: true }, undefined, workers);

type Statement = { Effect: string; Action: string | string[]; Resource: unknown; Condition?: object };
type Policy = { PolicyName: string; PolicyDocument: { Statement: Statement[] } };

const roles = template.findResources("AWS::IAM::Role");

/**
 * Every statement of every role, with the names of the role and the policy. The role of AWS Backup has no statement,
 * because it has only a policy of AWS (backup.test.ts).
 */
const statements = Object.entries(roles).flatMap(([role, { Properties }]) =>
  ((Properties.Policies ?? []) as Policy[]).flatMap(({ PolicyName, PolicyDocument }) =>
    PolicyDocument.Statement.map((statement) => ({ role, policy: PolicyName, ...statement })),
  ),
);

const declared = [...lambdas, ...workers].map(({ name, access, uses = [] }) => ({ name, access, uses }));
const functions = template.findResources("AWS::Lambda::Function");
const roleOf = (name: string): string => functions[functionId(name)]?.["Properties"].Role["Fn::GetAtt"][0] as string;

/** The policies with a wildcard in their resources, each with the reason. */
const reasons: Record<string, string> = {
  registrar: "Route 53 Domains has no resources to name.",
  dns: "Route 53 makes and names a hosted zone when a domain comes.",
  trace: "X-Ray has no resources to name.",
  files: "Each file is an object of its own, under one of two prefixes.",
  payments: "Secrets Manager ends a secret's ARN with six characters of its own.",
  mail_servers: "Secrets Manager ends a secret's ARN with six characters of its own.",
  secret: "Secrets Manager ends a secret's ARN with six characters of its own.",
};

test("the whole product with the settings of the example stage is one stack, 80 resources and 200 KB below the limits", () => {
  const all = template.toJSON();
  expect(Object.keys(all["Resources"]).length).toBeLessThanOrEqual(420);
  // As the stack writes it: without indentation.
  expect(JSON.stringify(all).length).toBeLessThan(800_000);
});

test("no statement has a wildcard in its actions, denies anything, or lists exceptions", () => {
  expect(statements.length).toBeGreaterThan(150);
  for (const { role, Effect, Action, ...rest } of statements) {
    expect([role, Effect]).toEqual([role, "Allow"]);
    for (const action of [Action].flat()) expect(action).toMatch(/^[a-z0-9]+:[A-Za-z]+$/);
    expect(Object.keys(rest)).not.toEqual(expect.arrayContaining(["NotAction"]));
    expect(Object.keys(rest)).not.toEqual(expect.arrayContaining(["NotResource"]));
  }
});

test("only the policies with a documented reason have a wildcard in their resources", () => {
  const withWildcard = statements.filter(({ Resource }) => /[*?]/.test(JSON.stringify(Resource)));
  expect([...new Set(withWildcard.map(({ policy }) => policy))].toSorted()).toEqual(Object.keys(reasons).toSorted());
});

test("a resource without a wildcard is in this stack, or is named in the configuration", () => {
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
  "the role of $name allows the access $access to the table, with condition checks in transactions for writes",
  ({ name, access }) => {
    expect(actionsOn(roleOf(name), "table")).toEqual({ none: [], read: reads, write: writes }[access]);
  },
);

test("no role may scan, describe, reconfigure or delete the table, or use PartiQL", () => {
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

test("a role has a policy for each declaration of its function that needs one, and no other policy", () => {
  // A provider outside of AWS that needs no secret needs no policy.
  const granted = new Set(statements.map(({ policy }) => policy));
  for (const { name, access, uses } of declared) {
    const found = new Set(statements.filter(({ role }) => role === roleOf(name)).map(({ policy }) => policy));
    const isWorker = workers.some((worker) => worker.name === name);
    const more = [
      ...(access === "none" ? [] : ["table"]),
      ...(access === "read" && !isWorker ? ["callers"] : []),
      ...(isWorker ? [found.has("stream") ? "stream" : "dead_letters"] : []),
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
] as const)("only a function that declares the provider may do %s", (action, provider) => {
  const may = statements.filter(({ Action }) => [Action].flat().includes(action)).map(({ role }) => role);
  const using = declared.filter(({ uses }) => uses.includes(provider)).map(({ name }) => roleOf(name));
  expect(using).toEqual(expect.arrayContaining(may));
  expect(may).not.toEqual([]);
});

test("a function that uses secrets may open them, also secrets of a former key, and may seal only if it makes secrets", () => {
  const policies = statements.filter(({ policy }) => policy === "secrets");
  const sealing = policies.filter(({ Action }) => Action.includes("kms:Encrypt")).map(({ role }) => role);
  for (const { Action } of policies) expect([Action].flat()).toContain("kms:Decrypt");
  expect(sealing).toContain(roleOf("workers.advance_domains"));
  for (const name of ["mail.dkim", "mail.sender", "workers.dispatch_event", "workers.retry_deliveries"]) {
    expect(sealing).not.toContain(roleOf(name));
  }
  // The ARN of the present key is a reference to the stack's own key. The ARN of a former key is a text.
  const isFormer = ({ Resource }: Statement) => [Resource].flat().some((one) => typeof one === "string");
  for (const one of policies.filter(isFormer)) expect(one.Action).toEqual("kms:Decrypt");
  const rolesOf = (list: readonly { role: string }[]) => new Set(list.map(({ role }) => role));
  expect(rolesOf(policies.filter(isFormer))).toEqual(rolesOf(policies));
});

test("three kinds of rights are bound to partitions: of functions that only read, to update the rows of tokens and rate limits; of the web function, to the table; and of workers with declared keys, to the table", () => {
  const bound = statements.filter(({ Condition }) => Condition !== undefined);
  const keys = ({ Condition }: Statement) =>
    (Condition as Record<string, Record<string, string[]>>)["ForAllValues:StringLike"]?.["dynamodb:LeadingKeys"];
  const keysFor = (action: string) =>
    bound
      .filter(({ policy, Action }) => policy === "table" && Action.includes(`dynamodb:${action}`))
      .map((one): [string, unknown] => [one.role, keys(one)]);
  const wanted = workers.flatMap((worker) => (worker.keys ? [{ ...worker, keys: worker.keys }] : []));
  expect(Object.fromEntries(keysFor("GetItem"))).toEqual({
    WebRole: ["ACCOUNT#*", "DOMAIN#*"],
    ...Object.fromEntries(wanted.map((one) => [roleOf(one.name), [...one.keys, ...(one.readKeys ?? [])]])),
  });
  const writers = wanted.filter(({ access }) => access === "write");
  expect(Object.fromEntries(keysFor("PutItem"))).toEqual(
    Object.fromEntries(writers.map((one) => [roleOf(one.name), one.keys])),
  );
  const notes = bound.filter(({ policy }) => policy === "callers");
  expect(notes.map(keys)).toEqual(notes.map(() => ["TOKEN#*", "RATE#*"]));
  expect(bound.filter(({ policy }) => policy !== "table" && policy !== "callers")).toEqual([]);
});

test("the worker that stores revocations writes nothing in the partitions of accounts", () => {
  const ofAccounts = statements.filter(
    ({ role, Condition }) =>
      role === roleOf("workers.note_revocations") && JSON.stringify(Condition ?? {}).includes("ACCOUNT#*"),
  );
  expect(ofAccounts.flatMap(({ Action }) => Action).toSorted()).toEqual(reads.map((name) => `dynamodb:${name}`));
});
