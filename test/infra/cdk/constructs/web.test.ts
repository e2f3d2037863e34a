import { expect, test } from "vitest";

import { lambdas, workers } from "../../../../infra/entry-points.ts";
import { spec, synthesize } from "../synthesis.ts";

const settings = { stage: "blue", webHost: "web.example.com", webAddresses: "192.0.2.80,2001:db8::80" };
const template = synthesize([spec("me.get")], settings);
const functions = template.findResources("AWS::Lambda::Function");
const webFunction = functions["WebFunction"]?.["Properties"];

test("the function for customers' domains has an HTTP API of its own, with the limits of the settings", () => {
  const apis = Object.entries(template.findResources("AWS::ApiGatewayV2::Api"));
  expect(apis).toHaveLength(2);
  const [id, api] = apis.find(([, { Properties }]) => Properties.Body.info.title === "hosted-mail-blue-web") ?? [];
  expect(Object.keys(api?.["Properties"].Body.paths)).toEqual(["$default"]);
  const operation = api?.["Properties"].Body.paths.$default["x-amazon-apigateway-any-method"];
  expect(JSON.stringify(operation)).toContain("${WebFunction.Arn}");
  const stages = Object.values(template.findResources("AWS::ApiGatewayV2::Stage")).map((one) => one["Properties"]);
  expect(stages.find(({ ApiId }) => ApiId.Ref === id)).toMatchObject({
    DefaultRouteSettings: { ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1_000 },
    AccessLogSettings: { DestinationArn: expect.anything() },
  });
  expect(Object.keys(template.findOutputs("*"))).toContain("WebUrl");
});

test("the function for customers' domains reads only accounts and names, and takes the host from the proxy's header", () => {
  const role = template.findResources("AWS::IAM::Role")["WebRole"]?.["Properties"];
  const policies: { PolicyName: string; PolicyDocument: { Statement: object[] } }[] = role.Policies;
  expect(policies.map(({ PolicyName }) => PolicyName).toSorted()).toEqual(["logs", "table"]);
  expect(policies.find(({ PolicyName }) => PolicyName === "table")?.PolicyDocument.Statement).toMatchObject([
    {
      Action: ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"],
      Condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["ACCOUNT#*", "DOMAIN#*"] } },
    },
  ]);
  expect(webFunction.Environment.Variables).toMatchObject({ WEB_HOST_HEADER: "x-web-host" });
});

test("every function gets the web host and its addresses, and only the web function gets the proxy's header", () => {
  const names = Object.keys(functions).filter((name) => name !== "WebFunction");
  expect(names).not.toEqual([]);
  for (const name of [...names, "WebFunction"]) {
    const Variables: unknown = functions[name]?.["Properties"].Environment.Variables;
    expect(Variables).toMatchObject({ WEB_HOST: settings.webHost, WEB_ADDRESSES: settings.webAddresses });
    if (name !== "WebFunction") expect(Variables).not.toHaveProperty("WEB_HOST_HEADER");
  }
});

test("without a web host there is no function and no API for customers' domains", () => {
  const plain = synthesize(lambdas, {}, undefined, workers);
  expect(plain.findResources("AWS::Lambda::Function")).not.toHaveProperty("WebFunction");
  expect(Object.keys(plain.findResources("AWS::ApiGatewayV2::Api"))).toHaveLength(1);
});

test("web addresses without a web host are refused, and so are texts that are no IP addresses", () => {
  expect(() => synthesize([spec("me.get")], { webAddresses: "192.0.2.80" })).toThrow("webAddresses needs webHost");
  expect(() => synthesize([spec("me.get")], { ...settings, webAddresses: "web.example.com" })).toThrow("webAddresses");
});
