import { join } from "node:path";

import { Duration, Validations } from "aws-cdk-lib";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

import type { LambdaSpec } from "../entry-points.ts";
import { setLogicalId } from "./logical-id.ts";
import { type Outside, type Side, acknowledgePorts, allow, portEnvironment, portPolicies } from "./permissions.ts";

/** What all functions have in common. `bundleDir` holds a folder of each function's name. */
export type Common = {
  table: Table;
  outside: Outside;
  logGroup: LogGroup;
  bundleDir: string;
  environment: Record<string, string>;
  /** Whether X-Ray gets a trace of each call. */
  trace: boolean;
};

const readActions = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"];

/** What a function's `access` lets it do with the table. A transaction is authorized by the actions of its parts. */
const tableActions: Record<LambdaSpec["access"], readonly string[]> = {
  none: [],
  read: readActions,
  write: [
    ...readActions,
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:ConditionCheckItem",
  ],
};

/** `dns_records.list` → `DnsRecordsListFunction`: what a template, `sam local` and an ARN call the function. */
export const functionId = (name: string): string => `${pascalCase(name)}Function`;

const pascalCase = (name: string): string =>
  name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");

/** One function, whatever wakes it. `policies` is what it may do besides what it uses and writing its log. */
export type FunctionSpec = Pick<LambdaSpec, "name" | "access" | "uses"> & {
  side: Side;
  description: string;
  timeoutSeconds: number;
  memoryMb?: number | undefined;
  /** The partitions that it may reach, with `*` for any characters; all if not said. */
  keys?: readonly string[] | undefined;
  policies?: Record<string, PolicyDocument>;
};

/** One function per Lambda, each under a role of its own that allows what it declares and nothing else. */
export const addFunctions = (
  scope: Construct,
  lambdas: readonly LambdaSpec[],
  common: Common,
): Map<string, lambda.Function> =>
  new Map(
    lambdas.map(({ name, access, uses = [], timeoutSeconds = 10, memoryMb, triggers }) => {
      const spec: FunctionSpec = {
        name,
        access,
        uses,
        side: "door",
        description: triggers.join(", "),
        timeoutSeconds,
        memoryMb,
        ...(access === "read" ? { policies: { callers: allowNotingCallers(common.table.tableArn) } } : {}),
      };
      return [name, addFunction(scope, spec, common)];
    }),
  );

/** Adds a function under a role of its own. */
export function addFunction(scope: Construct, spec: FunctionSpec, common: Common): lambda.Function {
  const added = new lambda.Function(scope, spec.name, {
    description: spec.description,
    code: lambda.Code.fromAsset(join(common.bundleDir, spec.name)),
    handler: "index.handler",
    runtime: lambda.Runtime.NODEJS_24_X,
    architecture: lambda.Architecture.ARM_64,
    memorySize: spec.memoryMb ?? 512,
    timeout: Duration.seconds(spec.timeoutSeconds),
    environment: { ...common.environment, ...portEnvironment(spec.uses ?? [], common.outside) },
    role: addRole(scope, spec, common),
    logGroup: common.logGroup,
    // As JSON, Lambda passes the lines of shared/core/log.ts on as they are; LOG_LEVEL alone decides which are written.
    loggingFormat: lambda.LoggingFormat.JSON,
    applicationLogLevelV2: lambda.ApplicationLogLevel.TRACE,
    // One line a request is ours; the platform speaks up about time-outs and crashes only.
    systemLogLevelV2: lambda.SystemLogLevel.WARN,
  });
  // The construct's own `tracing` attaches a policy from outside to every role.
  if (common.trace) cfn(added).addPropertyOverride("TracingConfig.Mode", "Active");
  return setLogicalId(added, functionId(spec.name));
}

const traceActions = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"];

const cfn = (added: lambda.Function): lambda.CfnFunction => added.node.defaultChild as lambda.CfnFunction;

function addRole(scope: Construct, spec: FunctionSpec, { table, outside, logGroup, trace }: Common): Role {
  const { side, uses = [] } = spec;
  const actions = tableActions[spec.access];
  const role = new Role(scope, `${spec.name}.role`, {
    assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    inlinePolicies: {
      logs: allow(["logs:CreateLogStream", "logs:PutLogEvents"], logGroup.logGroupArn),
      ...(actions.length > 0 ? { table: allowTable(actions, table.tableArn, spec.keys) } : {}),
      ...portPolicies(side, uses, outside),
      ...spec.policies,
      ...(trace ? { trace: allow(traceActions, "*") } : {}),
    },
  });
  if (trace) {
    const reason = "X-Ray knows no resources that traces are sent to.";
    Validations.of(role).acknowledge({ id: "AwsSolutions-IAM5[Resource::*]", reason });
  }
  acknowledgePorts(role, uses, outside);
  return setLogicalId(role, `${pascalCase(spec.name)}Role`);
}

/** The partition keys of an item, of every item of a batch and of every part of a transaction are DynamoDB's leading keys. */
const allowTable = (actions: readonly string[], tableArn: string, keys: readonly string[] | undefined) =>
  new PolicyDocument({
    statements: [
      new PolicyStatement({
        actions: [...actions],
        resources: [tableArn],
        ...(keys === undefined
          ? {}
          : { conditions: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": [...keys] } } }),
      }),
    ],
  });

/**
 * A function that only reads still charges its caller's rate limit and notes when a service account's token was last
 * used, each by one update outside of any transaction, and may write no other item.
 */
const allowNotingCallers = (tableArn: string): PolicyDocument =>
  allowTable(["dynamodb:UpdateItem"], tableArn, ["TOKEN#*", "RATE#*"]);
