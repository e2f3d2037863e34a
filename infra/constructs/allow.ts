import { PolicyDocument, PolicyStatement } from "aws-cdk-lib/aws-iam";

/** A policy that allows actions on some resources. */
export const allow = (actions: readonly string[], ...resources: string[]): PolicyDocument =>
  new PolicyDocument({ statements: [new PolicyStatement({ actions: [...actions], resources })] });
