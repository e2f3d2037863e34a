import { expect, test } from "vitest";

import { only, spec, synthesize } from "../synthesis.ts";

const settings = { mailSecretName: "mail/key", mailSecretRotationDays: "90" };
const template = synthesize([spec("me.get")], settings);

test("Secrets Manager calls the rotation after the days of the setting, and only for this AWS account", () => {
  const id = "WorkersRotateSecretFunction";
  expect(only(template, "AWS::SecretsManager::RotationSchedule")[1]["Properties"]).toEqual({
    SecretId: "mail/key",
    RotationLambdaARN: { "Fn::GetAtt": [id, "Arn"] },
    RotationRules: { AutomaticallyAfterDays: 90 },
    RotateImmediatelyOnUpdate: false,
  });
  const permissions = Object.values(template.findResources("AWS::Lambda::Permission")).map((one) => one["Properties"]);
  expect(permissions.filter(({ Principal }) => Principal === "secretsmanager.amazonaws.com")).toEqual([
    {
      Action: "lambda:InvokeFunction",
      FunctionName: { "Fn::GetAtt": [id, "Arn"] },
      Principal: "secretsmanager.amazonaws.com",
      SourceAccount: { Ref: "AWS::AccountId" },
    },
  ]);
});

test("the rotation may change this secret, and nothing else", () => {
  const { Policies } = template.findResources("AWS::IAM::Role")["WorkersRotateSecretRole"]?.["Properties"] ?? {};
  expect(Policies.map(({ PolicyName }: { PolicyName: string }) => PolicyName)).toEqual(["logs", "secret"]);
  const [statement] = Policies[1].PolicyDocument.Statement;
  expect(statement.Action).toEqual([
    "secretsmanager:DescribeSecret",
    "secretsmanager:GetSecretValue",
    "secretsmanager:PutSecretValue",
    "secretsmanager:UpdateSecretVersionStage",
  ]);
  expect(JSON.stringify(statement.Resource)).toContain(":secret:mail/key-??????");
});

test("without the setting there is no rotation, and the setting without a secret is refused", () => {
  const plain = synthesize([spec("me.get")], { mailSecretName: "mail/key" });
  expect(plain.findResources("AWS::SecretsManager::RotationSchedule")).toEqual({});
  expect(() => synthesize([spec("me.get")], { mailSecretRotationDays: "90" })).toThrow("needs mailSecretName");
});
