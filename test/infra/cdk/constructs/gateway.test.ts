import { expect, test } from "vitest";

import { functionId } from "../../../../infra/cdk/constructs/functions.ts";
import { lambdas, requestsTo, workers } from "../../../../infra/entry-points.ts";
import { manySpecs, only, spec, synthesize } from "../synthesis.ts";

const template = synthesize(lambdas, {}, undefined, workers);
const hundred = synthesize(manySpecs(100));

type Body = { paths: Record<string, Record<string, Operation>>; "x-amazon-apigateway-cors"?: Record<string, unknown> };
type Operation = {
  isDefaultRoute?: boolean;
  parameters: { name: string }[];
  "x-amazon-apigateway-integration": {
    type: string;
    payloadFormatVersion: string;
    uri: { "Fn::Sub": string };
    credentials: { "Fn::GetAtt": [string, string] };
  };
};

const bodyOf = (synthesized: typeof template): Body =>
  only(synthesized, "AWS::ApiGatewayV2::Api")[1]["Properties"].Body;

/** Every route of the gateway as [trigger, operation]. */
const routesOf = (synthesized: typeof template): [string, Operation][] =>
  Object.entries(bodyOf(synthesized).paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [
      path === "$default" && method === "x-amazon-apigateway-any-method" ? path : `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );

const integrationOf = (operation: Operation) => operation["x-amazon-apigateway-integration"];

/** The triggers of the function that an operation invokes. A function has its triggers as its description. */
function invoked({ "x-amazon-apigateway-integration": { uri } }: Operation): string {
  const [, id = ""] = /\/functions\/\$\{(\w+)\.Arn\}\/invocations$/.exec(uri["Fn::Sub"]) ?? [];
  return template.findResources("AWS::Lambda::Function")[id]?.["Properties"].Description;
}

test("every trigger of every Lambda reaches that Lambda, and the gateway has no other route", () => {
  const wanted = lambdas.flatMap(({ triggers }) =>
    requestsTo(triggers).map((trigger) => [trigger, triggers.join(", ")]),
  );
  const wired = routesOf(template).map(([trigger, operation]) => [trigger, invoked(operation)]);
  expect(Object.fromEntries(wired)).toEqual(Object.fromEntries(wanted));
  expect(wired).toHaveLength(wanted.length);
});

test("no worker can be reached through the gateway, or invoked with the roles of the gateway", () => {
  const workerIds = workers.map(({ name }) => functionId(name));
  expect(Object.keys(template.findResources("AWS::Lambda::Function"))).toEqual(expect.arrayContaining(workerIds));
  const roles = Object.entries(template.findResources("AWS::IAM::Role")).filter(([id]) => id.startsWith("Invoke"));
  expect(roles).not.toEqual([]);
  const open = JSON.stringify([bodyOf(template), roles]);
  for (const id of workerIds) expect(open).not.toContain(id);
});

test("every route is a Lambda proxy of payload 2.0", () => {
  for (const [trigger, operation] of routesOf(template)) {
    expect([trigger, integrationOf(operation)]).toEqual([
      trigger,
      expect.objectContaining({ type: "aws_proxy", httpMethod: "POST", payloadFormatVersion: "2.0" }),
    ]);
  }
});

test("requests without a route go to the fallback", () => {
  const defaults = routesOf(template).filter(([, operation]) => operation.isDefaultRoute);
  expect(defaults.map(([trigger, operation]) => [trigger, invoked(operation)])).toEqual([["$default", "$default"]]);
});

test("every variable of a path is declared", () => {
  for (const [trigger, operation] of routesOf(template)) {
    const variables = [...trigger.matchAll(/\{(.+?)\}/g)].map(([, name]) => name);
    expect(operation.parameters.map(({ name }) => name)).toEqual(variables);
  }
});

test("two Lambdas cannot have the same trigger", () => {
  const twice = [spec("a.get"), spec("b.get", { triggers: ["GET /v1/public/a.get"] })];
  expect(() => synthesize(twice)).toThrow(
    "Two Lambdas have the trigger GET /v1/public/a.get. The second one is b.get.",
  );
});

test("only the gateway may assume the role of a route, and the role may invoke the function of the route", () => {
  const roles = hundred.findResources("AWS::IAM::Role");
  for (const [, operation] of routesOf(hundred)) {
    const { uri, credentials } = integrationOf(operation);
    const role = roles[credentials["Fn::GetAtt"][0]]?.["Properties"];
    expect(role.AssumeRolePolicyDocument.Statement[0].Principal).toEqual({ Service: "apigateway.amazonaws.com" });
    const [, id] = /\$\{(\w+)\.Arn\}/.exec(uri["Fn::Sub"]) ?? [];
    const [statement, ...others] = role.Policies[0].PolicyDocument.Statement;
    expect(others).toEqual([]);
    expect(statement.Action).toBe("lambda:InvokeFunction");
    expect(statement.Resource).toContainEqual({ "Fn::GetAtt": [id, "Arn"] });
  }
});

test("if the functions change, the gateway's roles get new ids, so no former role changes", () => {
  const policiesOf = (template: typeof hundred) =>
    new Map(
      Object.entries(template.findResources("AWS::IAM::Role"))
        .filter(([id]) => id.startsWith("Invoke"))
        .map(([id, role]) => [id, JSON.stringify(role["Properties"].Policies)]),
    );
  const specs = manySpecs(100);
  const before = policiesOf(hundred);
  expect(before.size).toBe(2);
  expect(policiesOf(synthesize(specs))).toEqual(before);
  const more = synthesize([spec("a.get"), ...specs]);
  const fewer = synthesize(specs.slice(1));
  const inSteps = synthesize(specs, { canary: true });
  for (const after of [more, fewer, inSteps].map(policiesOf)) {
    expect(after.size).toBe(2);
    expect([...after.keys()].filter((id) => before.has(id))).toEqual([]);
  }
});

test("no invoke role exceeds IAM's limit of 10,240 characters, even with the longest names of functions", () => {
  const longestArn = `arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:${"f".repeat(64)}`;
  const roles = Object.values(hundred.findResources("AWS::IAM::Role"));
  const sizes = roles.map(
    (role) =>
      JSON.stringify(role["Properties"].Policies[0].PolicyDocument).replaceAll(
        /\{"Fn::GetAtt":\["\w+Function","Arn"\]\}/g,
        `"${longestArn}"`,
      ).length,
  );
  expect(Math.max(...sizes)).toBeLessThan(10_240);
});

test("browsers of the configured origins may call the API; without an origin there is no CORS", () => {
  const origins = ["https://app.example", "http://localhost:5173"];
  const cors = bodyOf(synthesize([spec("me.get")], { allowedOrigins: origins }))["x-amazon-apigateway-cors"];
  expect(cors).toMatchObject({ allowOrigins: origins, allowMethods: ["GET", "POST", "PATCH", "DELETE"] });
  expect(cors).not.toHaveProperty("allowCredentials");
  expect(bodyOf(template)).not.toHaveProperty("x-amazon-apigateway-cors");
});

test("the stage deploys itself, throttles, and logs each request as JSON with its route instead of its path", () => {
  const [, stage] = only(template, "AWS::ApiGatewayV2::Stage");
  expect(stage["Properties"]).toMatchObject({
    StageName: "$default",
    AutoDeploy: true,
    DefaultRouteSettings: { ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1000 },
  });
  const { DestinationArn, Format } = stage["Properties"].AccessLogSettings;
  expect(DestinationArn["Fn::GetAtt"][0]).toMatch(/^AccessLogs/);
  expect(Object.values(JSON.parse(Format))).toContain("$context.routeKey");
  expect(Format).not.toContain("$context.path");
});
