import { Fn } from "aws-cdk-lib";
import { CfnApi, CfnStage } from "aws-cdk-lib/aws-apigatewayv2";
import type { Role } from "aws-cdk-lib/aws-iam";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

import type { Config } from "./config.ts";
import { corsRules } from "./cors.ts";
import { functionId } from "./functions.ts";
import type { LambdaSpec } from "./lambdas.ts";

type PathItem = Record<string, unknown>;

/** The HTTP API, all of it one OpenAPI definition made from the triggers, and its `$default` stage. */
export function addGateway(
  scope: Construct,
  lambdas: readonly LambdaSpec[],
  invokeRoles: ReadonlyMap<string, Role>,
  accessLogs: LogGroup,
  config: Config,
): CfnApi {
  const api = new CfnApi(scope, "Api", {
    body: {
      openapi: "3.0.1",
      info: { title: `hosted-mail-${config.stage}`, version: "1" },
      paths: pathsOf(lambdas, invokeRoles),
      ...(config.allowedOrigins.length > 0 ? { "x-amazon-apigateway-cors": cors(config.allowedOrigins) } : {}),
    },
  });
  new CfnStage(scope, "Stage", {
    apiId: api.ref,
    stageName: "$default",
    autoDeploy: true,
    accessLogSettings: { destinationArn: accessLogs.logGroupArn, format: accessLogFormat },
    defaultRouteSettings: {
      throttlingRateLimit: config.throttleRatePerSecond,
      throttlingBurstLimit: config.throttleBurst,
    },
  });
  return api;
}

function pathsOf(lambdas: readonly LambdaSpec[], roles: ReadonlyMap<string, Role>): Record<string, PathItem> {
  const paths: Record<string, PathItem> = {};
  for (const { name, triggers } of lambdas) {
    for (const trigger of triggers) {
      const { path, method } = placeOf(trigger);
      const item = (paths[path] ??= {});
      if (method in item) throw new Error(`Two Lambdas have the trigger ${trigger}; the second is ${name}`);
      item[method] = operation(path, name, roles.get(name)?.roleArn);
    }
  }
  return paths;
}

/** `$default` without a slash, as SAM writes it: API Gateway imports both forms, `sam local` knows only this one. */
function placeOf(trigger: string): { path: string; method: string } {
  if (trigger === "$default") return { path: "$default", method: "x-amazon-apigateway-any-method" };
  const [method = "", path = ""] = trigger.split(" ");
  return { path, method: method.toLowerCase() };
}

const lambdaPath = "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions";

const operation = (path: string, name: string, credentials: string | undefined): Record<string, unknown> => ({
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
    // `sam local start-api` finds the function by this exact form.
    uri: Fn.sub(`${lambdaPath}/\${${functionId(name)}.Arn}/invocations`),
    credentials,
  },
});

const cors = (allowOrigins: readonly string[]): Record<string, unknown> => {
  const { allowMethods, allowHeaders, exposeHeaders, maxAgeSeconds } = corsRules;
  return { allowOrigins, allowMethods, allowHeaders, exposeHeaders, maxAge: maxAgeSeconds };
};

/** The route, not the path: a path can hold a mail address. */
const accessLogFormat = JSON.stringify({
  time_epoch_ms: "$context.requestTimeEpoch",
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
