import { join } from "node:path";

import { Duration, Validations } from "aws-cdk-lib";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

import type { LambdaSpec } from "../entry-points.ts";
import { setLogicalId } from "./logical-id.ts";
import {
  type ProviderResources,
  type Side,
  acknowledgeProviders,
  allow,
  providerEnvironment,
  providerPolicies,
} from "./permissions.ts";

/** The properties that all functions share. `bundleDir` holds a folder for each function's name. */
export type Common = {
  table: Table;
  resources: ProviderResources;
  logGroup: LogGroup;
  bundleDir: string;
  environment: Record<string, string>;
  /** Whether X-Ray traces each call. */
  trace: boolean;
};

const readActions = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"];

/** The table actions that each `access` allows. A transaction is authorized by the actions of its parts. */
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

/**
 * The name of a function in a template, in `sam local` and in an ARN: `dns_records.list` → `DnsRecordsListFunction`.
 */
export const functionId = (name: string): string => `${pascalCase(name)}Function`;

const pascalCase = (name: string): string =>
  name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");

/**
 * One function with any kind of trigger. `policies` adds permissions beyond its providers, its table access and its log.
 */
export type FunctionSpec = Pick<LambdaSpec, "name" | "access" | "uses"> & {
  side: Side;
  description: string;
  timeoutSeconds: number;
  memoryMb?: number | undefined;
  /** The partitions that the function may reach, with `*` for any characters; by default all. */
  keys?: readonly string[] | undefined;
  policies?: Record<string, PolicyDocument>;
};

/** Adds one function per Lambda, each with its own role that allows only what the Lambda declares. */
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
        side: "request",
        description: triggers.join(", "),
        timeoutSeconds,
        memoryMb,
        ...(access === "read" ? { policies: { callers: allowNotingCallers(common.table.tableArn) } } : {}),
      };
      return [name, addFunction(scope, spec, common)];
    }),
  );

/** Adds a function with its own role. */
export function addFunction(scope: Construct, spec: FunctionSpec, common: Common): lambda.Function {
  const added = new lambda.Function(scope, spec.name, {
    description: spec.description,
    code: lambda.Code.fromAsset(join(common.bundleDir, spec.name)),
    handler: "init.handler",
    runtime: lambda.Runtime.NODEJS_24_X,
    architecture: lambda.Architecture.ARM_64,
    memorySize: spec.memoryMb ?? 512,
    timeout: Duration.seconds(spec.timeoutSeconds),
    environment: { ...common.environment, ...providerEnvironment(spec.uses ?? [], common.resources) },
    role: addRole(scope, spec, common),
    logGroup: common.logGroup,
    // With JSON, Lambda passes on the lines of shared/core/log.ts unchanged; LOG_LEVEL alone decides which are written.
    loggingFormat: lambda.LoggingFormat.JSON,
    applicationLogLevelV2: lambda.ApplicationLogLevel.TRACE,
    // We write one line per request ourselves, so the platform logs only time-outs and crashes.
    systemLogLevelV2: lambda.SystemLogLevel.WARN,
  });
  // The construct's own `tracing` property attaches an extra policy to every role.
  if (common.trace) cfn(added).addPropertyOverride("TracingConfig.Mode", "Active");
  return setLogicalId(added, functionId(spec.name));
}

const traceActions = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"];

const cfn = (added: lambda.Function): lambda.CfnFunction => added.node.defaultChild as lambda.CfnFunction;

function addRole(scope: Construct, spec: FunctionSpec, { table, resources, logGroup, trace }: Common): Role {
  const { side, uses = [] } = spec;
  const actions = tableActions[spec.access];
  const role = new Role(scope, `${spec.name}.role`, {
    assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    inlinePolicies: {
      logs: allow(["logs:CreateLogStream", "logs:PutLogEvents"], logGroup.logGroupArn),
      ...(actions.length > 0 ? { table: allowTable(actions, table.tableArn, spec.keys) } : {}),
      ...providerPolicies(side, uses, resources),
      ...spec.policies,
      ...(trace ? { trace: allow(traceActions, "*") } : {}),
    },
  });
  if (trace) {
    const reason = "X-Ray has no resources to restrict traces to.";
    Validations.of(role).acknowledge({ id: "AwsSolutions-IAM5[Resource::*]", reason });
  }
  acknowledgeProviders(role, uses, resources);
  return setLogicalId(role, `${pascalCase(spec.name)}Role`);
}

/**
 * Allows table actions, limited to partition keys if given. DynamoDB checks the keys of single items, of every item of
 * a batch and of every part of a transaction.
 */
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
 * Lets a function with read access charge its caller's rate limit and record the last use of a service account's token.
 * Each takes one update outside of any transaction; the function can write no other item.
 */
const allowNotingCallers = (tableArn: string): PolicyDocument =>
  allowTable(["dynamodb:UpdateItem"], tableArn, ["TOKEN#*", "RATE#*"]);
