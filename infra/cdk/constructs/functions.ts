import { join } from "node:path";

import { Duration, Validations } from "aws-cdk-lib";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

import { type LambdaSpec, web } from "../../entry-points.ts";
import { setLogicalId } from "./logical-id.ts";
import {
  type ProviderResources,
  type Side,
  acknowledgeProviders,
  allow,
  providerEnvironment,
  providerPolicies,
} from "./permissions.ts";

/** The properties that all functions share. `bundleDir` contains one folder per function, with the function's name. */
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

const writeActions = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"];

/**
 * The table actions that each `access` allows. DynamoDB has no action for a transaction: it checks the actions of the
 * transaction's parts.
 */
const tableActions: Record<LambdaSpec["access"], readonly string[]> = {
  none: [],
  read: readActions,
  write: [...readActions, ...writeActions],
};

/** The logical id of a function, which `sam local` uses too: `dns_records.list` → `DnsRecordsListFunction`. */
export const functionId = (name: string): string => `${pascalCase(name)}Function`;

const pascalCase = (name: string): string =>
  name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");

/**
 * One function with any kind of trigger. The role of the function has the permissions for its providers, its table
 * access and its log. `policies` adds further permissions.
 */
export type FunctionSpec = Pick<LambdaSpec, "name" | "access" | "uses"> & {
  side: Side;
  description: string;
  timeoutSeconds: number;
  memoryMb?: number | undefined;
  /**
   * Whether the function only opens secrets, and never seals a secret. By default true for a function with the access
   * `read`.
   */
  opensOnly?: boolean;
  /** The partition keys that the function may use, with `*` for any characters. By default all. */
  keys?: readonly string[] | undefined;
  /** Further partition keys, which a function with the access `write` may only read. */
  readKeys?: readonly string[] | undefined;
  policies?: Record<string, PolicyDocument>;
};

/**
 * The rights of a Lambda that answers requests, as the name of the Lambda's role, such as `read` or
 * `write.registrar.secrets`.
 */
export const rightsOf = ({ access, uses = [] }: Pick<LambdaSpec, "access" | "uses">): string =>
  [access, ...uses.toSorted()].join(".");

/**
 * Adds one function per Lambda, with a role for the rights that the Lambda declares. Functions that declare the same
 * rights share a role, because CloudFormation allows only 500 resources in a stack and a template of 1 MB. `scopeOf`
 * can choose another scope for a function, by the function's index. The roles stay in `scope`.
 */
export function addFunctions(
  scope: Construct,
  lambdas: readonly LambdaSpec[],
  common: Common,
  scopeOf: (index: number) => Construct = () => scope,
): Map<string, lambda.Function> {
  const roles = new Map<string, Role>();
  return new Map(
    lambdas.map(({ name, access, uses = [], timeoutSeconds = 10, memoryMb, triggers }, index) => {
      const description = triggers.join(", ");
      const spec: FunctionSpec = { name, access, uses, side: "request", description, timeoutSeconds, memoryMb };
      const rights = rightsOf(spec);
      const policies = access === "read" ? { callers: allowCallerUpdates(common.table.tableArn) } : {};
      const role = roles.get(rights) ?? addRole(scope, { ...spec, name: rights, policies }, common);
      roles.set(rights, role);
      return [name, addFunction(scopeOf(index), spec, common, role)];
    }),
  );
}

/** The TLS proxy for customers' domains writes the requested host into this header. */
const webHostHeader = "x-web-host";

/**
 * Adds the function that answers HTTP requests to customers' domains. Anybody can call the function. So it may only
 * read, and only the rows of accounts and domains.
 */
export function addWebFunction(scope: Construct, common: Common): lambda.Function {
  const { name, access, timeoutSeconds = 10 } = web;
  const description = "HTTP requests to customers' domains";
  const spec: FunctionSpec = {
    name,
    access,
    side: "request",
    description,
    timeoutSeconds,
    keys: ["ACCOUNT#*", "DOMAIN#*"],
  };
  return addFunction(scope, spec, {
    ...common,
    environment: { ...common.environment, WEB_HOST_HEADER: webHostHeader },
  });
}

/** The most bytes of names and values in the environment of a function. Lambda refuses a larger environment. */
const environmentLimit = 4096;

/** The bytes of an environment. A value that only the deployment knows, such as a table's name, counts as 100 bytes. */
const environmentBytes = (environment: Record<string, string>): number =>
  Buffer.byteLength(
    Object.entries(environment)
      .flat()
      .join("")
      .replaceAll(/\$\{Token\[[^\]]*\]\}/g, "x".repeat(100)),
  );

/**
 * Adds a function. Without `role`, the function gets a role of its own. Throws if the settings make the function's
 * environment larger than Lambda allows.
 */
export function addFunction(
  scope: Construct,
  spec: FunctionSpec,
  common: Common,
  role: Role = addRole(scope, spec, common),
): lambda.Function {
  const environment = { ...common.environment, ...providerEnvironment(spec.uses ?? [], common.resources) };
  const bytes = environmentBytes(environment);
  if (bytes > environmentLimit) {
    const [largest] = Object.entries(environment).toSorted(([, a], [, b]) => b.length - a.length)[0] ?? [];
    throw new Error(
      `The environment of ${spec.name} has about ${bytes} bytes, and Lambda allows ${environmentLimit}. Shorten a setting. The largest value is ${largest}.`,
    );
  }
  const added = new lambda.Function(scope, spec.name, {
    description: spec.description,
    code: lambda.Code.fromAsset(join(common.bundleDir, spec.name)),
    handler: "init.handler",
    runtime: lambda.Runtime.NODEJS_24_X,
    architecture: lambda.Architecture.ARM_64,
    memorySize: spec.memoryMb ?? 512,
    timeout: Duration.seconds(spec.timeoutSeconds),
    environment,
    role,
    logGroup: common.logGroup,
    // With JSON, Lambda passes the lines of shared/core/log.ts on unchanged. Only LOG_LEVEL decides which lines are
    // written.
    loggingFormat: lambda.LoggingFormat.JSON,
    applicationLogLevelV2: lambda.ApplicationLogLevel.TRACE,
    // The product itself writes one line per request. So the platform logs only time-outs and crashes.
    systemLogLevelV2: lambda.SystemLogLevel.WARN,
  });
  // The construct's own `tracing` property attaches an extra policy to every role.
  if (common.trace) resourceOf(added).addPropertyOverride("TracingConfig.Mode", "Active");
  return setLogicalId(added, functionId(spec.name));
}

const traceActions = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"];

const resourceOf = (added: lambda.Function): lambda.CfnFunction => added.node.defaultChild as lambda.CfnFunction;

function addRole(scope: Construct, spec: FunctionSpec, { table, resources, logGroup, trace }: Common): Role {
  const { side, access, uses = [], opensOnly = access === "read" } = spec;
  const role = new Role(scope, `${spec.name}.role`, {
    assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    inlinePolicies: {
      logs: allow(["logs:CreateLogStream", "logs:PutLogEvents"], logGroup.logGroupArn),
      ...(access === "none" ? {} : { table: tablePolicy(spec, table.tableArn) }),
      ...providerPolicies({ side, opensOnly }, uses, resources),
      ...spec.policies,
      ...(trace ? { trace: allow(traceActions, "*") } : {}),
    },
  });
  if (trace) {
    const reason = "IAM cannot restrict the actions of X-Ray to resources.";
    Validations.of(role).acknowledge({ id: "AwsSolutions-IAM5[Resource::*]", reason });
  }
  acknowledgeProviders(role, uses, resources);
  return setLogicalId(role, `${pascalCase(spec.name)}Role`);
}

/**
 * Allows the table actions of a function. With `readKeys`, one statement allows reading both `keys` and `readKeys`. One
 * batch can read keys of both lists, and a single statement has to allow all keys of a batch.
 */
const tablePolicy = ({ access, keys, readKeys }: FunctionSpec, tableArn: string): PolicyDocument =>
  new PolicyDocument({
    statements:
      keys === undefined || readKeys === undefined
        ? [allowTable(tableActions[access], tableArn, keys)]
        : [allowTable(readActions, tableArn, [...keys, ...readKeys]), allowTable(writeActions, tableArn, keys)],
  });

/**
 * Allows table actions. With `keys`, allows the actions only on partitions with these keys. DynamoDB checks the key of
 * every item, also in a batch and in a transaction.
 */
const allowTable = (actions: readonly string[], tableArn: string, keys?: readonly string[]): PolicyStatement =>
  new PolicyStatement({
    actions: [...actions],
    resources: [tableArn],
    ...(keys === undefined ? {} : { conditions: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": [...keys] } } }),
  });

/**
 * Lets a function with read access count a request against its caller's rate limit, and record the last use of a
 * service account's token. Each of these writes is one update outside of any transaction. The function can write no
 * other kind of item.
 */
const allowCallerUpdates = (tableArn: string): PolicyDocument =>
  new PolicyDocument({ statements: [allowTable(["dynamodb:UpdateItem"], tableArn, ["TOKEN#*", "RATE#*"])] });
