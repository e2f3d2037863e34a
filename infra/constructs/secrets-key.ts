import { RemovalPolicy } from "aws-cdk-lib";
import { Key } from "aws-cdk-lib/aws-kms";
import type { Construct } from "constructs";

/** The key that secrets are sealed with. It outlives the stack, as without it nothing that is sealed ever opens again. */
export const addSecretsKey = (scope: Construct, stage: string): Key =>
  new Key(scope, "SecretsKey", {
    alias: `hosted-mail/${stage}/secrets`,
    description: "Seals the secrets in the table",
    enableKeyRotation: true,
    removalPolicy: RemovalPolicy.RETAIN,
  });
