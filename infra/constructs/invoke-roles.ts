import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";

import { chunk } from "../../shared/core/concurrency.ts";

/** 80 function ARNs of at most 117 characters stay under the 10,240 that IAM allows a role's inline policies. */
const functionsPerRole = 80;

/** By a function's name, the role under which the gateway invokes it. The roles may invoke these functions only. */
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
