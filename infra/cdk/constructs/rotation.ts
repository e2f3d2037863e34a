import { Stack } from "aws-cdk-lib";
import { ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { CfnRotationSchedule } from "aws-cdk-lib/aws-secretsmanager";
import type { Construct } from "constructs";

import { secretRotator } from "../../entry-points.ts";
import { addFunction, type Common } from "./functions.ts";
import { allow, secretArnOf } from "./permissions.ts";

/** The rights that the four steps of a rotation need. */
const rotatingActions = ["DescribeSecret", "GetSecretValue", "PutSecretValue", "UpdateSecretVersionStage"].map(
  (name) => `secretsmanager:${name}`,
);

/**
 * Adds the function that makes a new key of the mail servers, and the schedule of the rotation. Only Secrets Manager of
 * this AWS account may call the function.
 */
export function addRotation(scope: Construct, secretName: string, days: number, common: Common): void {
  const { name, access, timeoutSeconds = 10 } = secretRotator;
  const rotator = addFunction(
    scope,
    {
      name,
      access,
      side: "worker",
      description: "Makes a new key of the mail servers",
      timeoutSeconds,
      policies: { secret: allow(rotatingActions, secretArnOf(scope, secretName)) },
    },
    { ...common, environment: {} },
  );
  rotator.addPermission("SecretsManager", {
    principal: new ServicePrincipal("secretsmanager.amazonaws.com"),
    sourceAccount: Stack.of(scope).account,
  });
  const schedule = new CfnRotationSchedule(scope, "MailKeyRotation", {
    secretId: secretName,
    rotationLambdaArn: rotator.functionArn,
    rotationRules: { automaticallyAfterDays: days },
    rotateImmediatelyOnUpdate: false,
  });
  schedule.node.addDependency(rotator);
}
