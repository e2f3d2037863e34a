import { PolicyDocument, PolicyStatement } from "aws-cdk-lib/aws-iam";

/** A policy that allows actions on one resource. */
export const allow = (actions: readonly string[], resource: string): PolicyDocument =>
  new PolicyDocument({ statements: [new PolicyStatement({ actions: [...actions], resources: [resource] })] });
