import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";

import { chunk } from "../../shared/core/concurrency.ts";

/** 80 function ARNs of at most 117 characters stay below 10,240, the limit of IAM for the inline policies of a role. */
const functionsPerRole = 80;

/**
 * Adds the roles under which the gateway invokes functions, by the function's name. They may invoke only these
 * functions.
 */
export function addInvokeRoles(scope: Construct, functions: ReadonlyMap<string, IFunction>): Map<string, Role> {
  const groups = chunk(functionsPerRole, [...functions]);
  return new Map(
    groups.flatMap((group, index) => {
      const role = new Role(scope, `Invoke${index + 1}`, {
        assumedBy: new ServicePrincipal("apigateway.amazonaws.com"),
        inlinePolicies: { invoke: allowInvoke(group.map(([, target]) => target.functionArn)) },
      });
      return group.map(([name]): [string, Role] => [name, role]);
    }),
  );
}

const allowInvoke = (functionArns: string[]): PolicyDocument =>
  new PolicyDocument({
    statements: [new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: functionArns })],
  });
