import { hash } from "node:crypto";

import { CfnOutput, Fn } from "aws-cdk-lib";
import { CfnApi, CfnApiMapping, CfnDomainName, CfnStage } from "aws-cdk-lib/aws-apigatewayv2";
import { Role, PolicyDocument, PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Alias, type IFunction } from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import { CfnRecordSet } from "aws-cdk-lib/aws-route53";
import type { Construct } from "constructs";

import { chunk } from "../../../shared/core/concurrency.ts";
import type { Config } from "../../config/config.ts";
import { corsRules } from "../../config/cors.ts";
import { type LambdaSpec, originAuthorizer, requestsTo, web } from "../../entry-points.ts";
import { functionId } from "./functions.ts";

/**
 * The host name of the gateway. With an edge (CloudFront in front of the gateway), `domainName` belongs to CloudFront,
 * and the gateway has another name.
 */
const gatewayName = ({ domainName, edge }: Pick<Config, "domainName" | "edge">): string | undefined =>
  edge?.originDomainName ?? domainName;

/**
 * Gives the gateway its host name, if it has one. If the configuration has a hosted zone, adds a DNS record. If not,
 * outputs the target of the record that you must add.
 */
export function addDomain(scope: Construct, { api, stage }: Gateway, config: Config): void {
  const name = gatewayName(config);
  const { certificateArn, hostedZoneId } = config;
  if (name === undefined || certificateArn === undefined) return;
  const domain = new CfnDomainName(scope, "Domain", {
    domainName: name,
    domainNameConfigurations: [{ certificateArn, endpointType: "REGIONAL", securityPolicy: "TLS_1_2" }],
  });
  const mapping = new CfnApiMapping(scope, "DomainMapping", {
    apiId: api.ref,
    domainName: domain.ref,
    stage: stage.stageName,
  });
  mapping.addResourceDependency(stage);
  if (hostedZoneId === undefined) {
    new CfnOutput(scope, "GatewayTarget", { value: domain.attrRegionalDomainName, description: `CNAME of ${name}` });
    return;
  }
  new CfnRecordSet(scope, "DomainRecord", {
    hostedZoneId,
    name,
    type: "A",
    aliasTarget: { dnsName: domain.attrRegionalDomainName, hostedZoneId: domain.attrRegionalHostedZoneId },
  });
}

type PathItem = Record<string, unknown>;

/** The HTTP API and its only stage. */
type Gateway = { api: CfnApi; stage: CfnStage };

/**
 * Adds the HTTP API and its `$default` stage. The API is one OpenAPI definition, made from the triggers of the Lambdas.
 */
export function addGateway(
  scope: Construct,
  lambdas: readonly LambdaSpec[],
  invocations: ReadonlyMap<string, Invocation>,
  accessLogs: LogGroup,
  config: Config,
): Gateway {
  const name = gatewayName(config);
  const authorizer = config.edge && invocations.get(originAuthorizer.name);
  const api = new CfnApi(scope, "Api", {
    body: {
      openapi: "3.0.1",
      info: { title: `hosted-mail-${config.stage}`, version: "1" },
      ...(name === undefined ? {} : withoutDefaultEndpoint(name)),
      paths: pathsOf(lambdas, invocations, authorizer === undefined ? {} : { security: [{ [scheme]: [] }] }),
      ...(authorizer === undefined ? {} : { components: { securitySchemes: { [scheme]: originScheme(authorizer) } } }),
      ...(config.allowedOrigins.length > 0 ? { "x-amazon-apigateway-cors": cors(config.allowedOrigins) } : {}),
    },
  });
  const throttles = throttlesOf(lambdas, config);
  return { api, stage: addStage(scope, "Stage", { api, accessLogs, config, throttles }) };
}

type StageOptions = {
  api: CfnApi;
  accessLogs: LogGroup;
  config: Config;
  /** The limits of individual routes. */
  throttles?: Record<string, unknown>;
};

/** Adds the `$default` stage of an HTTP API. The limits in the settings hold for all callers together. */
const addStage = (scope: Construct, id: string, { api, accessLogs, config, throttles = {} }: StageOptions): CfnStage =>
  new CfnStage(scope, id, {
    apiId: api.ref,
    stageName: "$default",
    autoDeploy: true,
    accessLogSettings: { destinationArn: accessLogs.logGroupArn, format: accessLogFormat },
    defaultRouteSettings: {
      throttlingRateLimit: config.throttleRatePerSecond,
      throttlingBurstLimit: config.throttleBurst,
    },
    ...(Object.keys(throttles).length > 0 ? { routeSettings: throttles } : {}),
  });

/**
 * Adds the HTTP API for requests to customers' domains, which come through a TLS proxy. This API is separate from the
 * customer API. So visitors of customers' domains and callers of the customer API do not share a limit.
 */
export function addWebGateway(
  scope: Construct,
  invocations: ReadonlyMap<string, Invocation>,
  accessLogs: LogGroup,
  config: Config,
): CfnApi {
  const api = new CfnApi(scope, "WebApi", {
    body: {
      openapi: "3.0.1",
      info: { title: `hosted-mail-${config.stage}-web`, version: "1" },
      paths: pathsOf([web], invocations, {}),
    },
  });
  addStage(scope, "WebStage", { api, accessLogs, config });
  return api;
}

/**
 * The limits of individual routes, by API Gateway's name of the route. CloudFormation passes the property names of a
 * limit to API Gateway unchanged.
 */
const throttlesOf = (lambdas: readonly LambdaSpec[], { routeThrottles }: Config): Record<string, unknown> =>
  Object.fromEntries(
    lambdas.flatMap(({ name, triggers }) => {
      const throttle = routeThrottles[name];
      if (throttle === undefined) return [];
      const { ratePerSecond, burst } = throttle;
      return requestsTo(triggers).map((trigger) => [
        trigger,
        { ThrottlingRateLimit: ratePerSecond, ThrottlingBurstLimit: burst },
      ]);
    }),
  );

/** Turns off the host name that API Gateway gives to the API. After that, the API has only the host name `name`. */
const withoutDefaultEndpoint = (name: string): Record<string, unknown> => ({
  servers: [
    { url: `https://${name}`, "x-amazon-apigateway-endpoint-configuration": { disableExecuteApiEndpoint: true } },
  ],
});

/** The name of the security scheme by which the gateway asks the authorizer. */
const scheme = "origin";

const originSecretHeader = "x-origin-secret";

/**
 * Makes the gateway ask the authorizer whether a request came through CloudFront. For each value of the header, the
 * gateway caches the authorizer's answer for five minutes.
 */
const originScheme = ({ uri, credentials }: Invocation): Record<string, unknown> => ({
  type: "apiKey",
  name: originSecretHeader,
  in: "header",
  "x-amazon-apigateway-authorizer": {
    type: "request",
    identitySource: `$request.header.${originSecretHeader}`,
    authorizerUri: uri,
    authorizerCredentials: credentials,
    authorizerPayloadFormatVersion: "2.0",
    authorizerResultTtlInSeconds: 300,
    enableSimpleResponses: true,
  },
});

function pathsOf(
  lambdas: readonly LambdaSpec[],
  invocations: ReadonlyMap<string, Invocation>,
  security: Record<string, unknown>,
): Record<string, PathItem> {
  const paths: Record<string, PathItem> = {};
  for (const { name, triggers } of lambdas) {
    for (const trigger of requestsTo(triggers)) {
      const { path, method } = endpointOf(trigger);
      const item = (paths[path] ??= {});
      if (method in item) throw new Error(`Two Lambdas have the trigger ${trigger}. The second one is ${name}.`);
      item[method] = { ...operation(path, invocations.get(name)), ...security };
    }
  }
  return paths;
}

/**
 * The path and method of a trigger. The path `$default` has no slash. API Gateway imports it with or without a slash,
 * but `sam local` imports it only without a slash.
 */
function endpointOf(trigger: string): { path: string; method: string } {
  if (trigger === "$default") return { path: "$default", method: "x-amazon-apigateway-any-method" };
  const [method = "", path = ""] = trigger.split(" ");
  return { path, method: method.toLowerCase() };
}

const lambdaPath = "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions";

/**
 * The address at which the gateway invokes a function. For a function in the same template, `sam local start-api` needs
 * exactly this form.
 */
const uriOf = (name: string, target: Invocable): string =>
  target instanceof Alias
    ? Fn.sub(`${lambdaPath}/\${Target}/invocations`, { Target: target.functionArn })
    : Fn.sub(`${lambdaPath}/\${${functionId(name)}.Arn}/invocations`);

const operation = (path: string, invocation: Invocation | undefined): Record<string, unknown> => ({
  ...(path === "$default" ? { isDefaultRoute: true } : {}),
  parameters: [...path.matchAll(/\{([^}]+)\}/g)].map(([, parameter]) => ({
    name: parameter,
    in: "path",
    required: true,
    schema: { type: "string" },
  })),
  responses: { default: { description: "As the public OpenAPI document says" } },
  "x-amazon-apigateway-integration": {
    type: "aws_proxy",
    httpMethod: "POST",
    payloadFormatVersion: "2.0",
    ...invocation,
  },
});

const cors = (allowOrigins: readonly string[]): Record<string, unknown> => {
  const { allowMethods, allowHeaders, exposeHeaders, maxAgeSeconds } = corsRules;
  return { allowOrigins, allowMethods, allowHeaders, exposeHeaders, maxAge: maxAgeSeconds };
};

/** The access log has the route and not the path, because a path can contain a mail address. */
const accessLogFormat = JSON.stringify({
  time_epoch_ms: "$context.requestTimeEpoch",
  api_id: "$context.apiId",
  gateway_request_id: "$context.requestId",
  source_ip: "$context.identity.sourceIp",
  user_agent: "$context.identity.userAgent",
  route: "$context.routeKey",
  protocol: "$context.protocol",
  status: "$context.status",
  response_bytes: "$context.responseLength",
  duration_ms: "$context.responseLatency",
  integration_duration_ms: "$context.integrationLatency",
  integration_status: "$context.integrationStatus",
  integration_error: "$context.integrationErrorMessage",
});

/**
 * The largest number of functions that one role may invoke. IAM allows 10,240 characters in the inline policies of a
 * role, and the ARN of a function has at most 117 characters.
 */
const functionsPerRole = 80;

/** A function, or an alias of a function. */
export type Invocable = Pick<IFunction, "functionArn">;

/** How the gateway invokes a function: its address, and the role under which the gateway calls it. */
export type Invocation = { uri: string; credentials: string };

/**
 * Adds the roles under which the gateway invokes functions. Each role may invoke only its functions. The logical id of
 * a role depends on the role's functions. So a deployment that changes which functions a role may invoke makes a new
 * role, and deletes the former role last. If the logical id stayed the same, CloudFormation would change the role
 * before the gateway. In between, the gateway could not invoke some functions.
 */
export function addInvocations(
  scope: Construct,
  functions: ReadonlyMap<string, Invocable>,
): ReadonlyMap<string, Invocation> {
  const groups = chunk(functionsPerRole, [...functions]);
  return new Map(
    groups.flatMap((group) => {
      const role = new Role(scope, `Invoke${digestOf(group)}`, {
        assumedBy: new ServicePrincipal("apigateway.amazonaws.com"),
        inlinePolicies: { invoke: allowInvoke(group.map(([, target]) => target.functionArn)) },
      });
      return group.map(([name, target]): [string, Invocation] => [
        name,
        { uri: uriOf(name, target), credentials: role.roleArn },
      ]);
    }),
  );
}

/** A text that depends only on the functions' names, and on whether the gateway invokes each function by an alias. */
const digestOf = (group: readonly [name: string, target: Invocable][]): string =>
  hash("sha256", JSON.stringify(group.map(([name, target]) => [name, target instanceof Alias]))).slice(0, 12);

const allowInvoke = (functionArns: string[]): PolicyDocument =>
  new PolicyDocument({
    statements: [new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: functionArns })],
  });
