import { expect, test } from "vitest";

import { Rights } from "./rights.ts";
import { Deployed } from "./template.ts";

const onTable = { "Fn::GetAtt": ["Table", "Arn"] };
const statement = (Action: string | string[], Resource: unknown, more: object = {}) => ({
  Effect: "Allow",
  Action,
  Resource,
  ...more,
});
const Statement = [
  statement(["dynamodb:GetItem", "dynamodb:Query"], onTable),
  statement("dynamodb:UpdateItem", onTable, {
    Condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["TOKEN#*", "RATE#*"] } },
  }),
  statement("s3:GetObject", { "Fn::Join": ["", [{ "Fn::GetAtt": ["Files", "Arn"] }, "/exports/*"]] }),
  statement("secretsmanager:GetSecretValue", {
    "Fn::Sub": "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:mail-??????",
  }),
];
const template = new Deployed({
  Resources: {
    Table: { Type: "AWS::DynamoDB::Table", Properties: {} },
    Files: { Type: "AWS::S3::Bucket", Properties: {} },
    ReadRole: {
      Type: "AWS::IAM::Role",
      Properties: { Policies: [{ PolicyName: "all", PolicyDocument: { Statement } }] },
    },
  },
});

const table = "arn:aws:dynamodb:eu-west-1:123456789012:table/Table";
const secret = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:mail";
const allowed = (action: string, resource: string, keys: string[] = []): boolean =>
  new Rights(template).check("MeGetFunction", "ReadRole", { action, resource, keys });

test("the action, the resource and the partitions of a call decide together whether it is allowed", () => {
  expect(allowed("dynamodb:GetItem", table, ["ACCOUNT#1"])).toBe(true);
  expect(allowed("dynamodb:PutItem", table, ["ACCOUNT#1"])).toBe(false);
  expect(allowed("dynamodb:GetItem", `${table}/index/1`)).toBe(false);
  expect(allowed("dynamodb:UpdateItem", table, ["TOKEN#1", "RATE#1"])).toBe(true);
  expect(allowed("dynamodb:UpdateItem", table, ["TOKEN#1", "ACCOUNT#1"])).toBe(false);
  expect(allowed("s3:GetObject", "arn:aws:s3:::files/exports/1.csv")).toBe(true);
  expect(allowed("s3:GetObject", "arn:aws:s3:::files/invoices/1.pdf")).toBe(false);
  expect(allowed("secretsmanager:GetSecretValue", `${secret}-AbCdEf`)).toBe(true);
  expect(allowed("secretsmanager:GetSecretValue", `${secret}-other-AbCdEf`)).toBe(false);
});

test("a denial names the function, the action, the resource, the kinds of partitions and the role", () => {
  const rights = new Rights(template);
  for (const id of ["1", "2"]) {
    const call = { action: "dynamodb:PutItem", resource: table, keys: [`ACCOUNT#${id}`] };
    rights.check("MeGetFunction", "ReadRole", call);
  }
  expect(rights.report()).toEqual([`MeGetFunction may not dynamodb:PutItem on ${table} (ACCOUNT#…), says ReadRole`]);
});

test("rights that nothing used are listed", () => {
  const rights = new Rights(template);
  rights.check("MeGetFunction", "ReadRole", { action: "dynamodb:Query", resource: table });
  expect(rights.unused()).toEqual([
    "ReadRole all dynamodb:GetItem",
    "ReadRole all dynamodb:UpdateItem",
    "ReadRole all s3:GetObject",
    "ReadRole all secretsmanager:GetSecretValue",
  ]);
});

test("a policy with an unknown condition makes the check throw", () => {
  const Condition = { StringEquals: { "aws:SourceIp": ["192.0.2.1"] } };
  const Policies = [
    { PolicyName: "all", PolicyDocument: { Statement: [statement("s3:GetObject", "*", { Condition })] } },
  ];
  const odd = new Deployed({ Resources: { ReadRole: { Type: "AWS::IAM::Role", Properties: { Policies } } } });
  const check = () =>
    new Rights(odd).check("f", "ReadRole", { action: "s3:GetObject", resource: "arn:aws:s3:::files" });
  expect(check).toThrow("does not know the condition");
});
