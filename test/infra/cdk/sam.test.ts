import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

import { afterAll, expect, test } from "vitest";

import { bundleLambdas } from "../../../infra/build/bundle.ts";
import { functionId } from "../../../infra/cdk/constructs/functions.ts";
import { addStack, createApp } from "../../../infra/cdk/stack.ts";
import { readConfig } from "../../../infra/config/config.ts";
import { type LambdaSpec, lambdas, requestsTo } from "../../../infra/entry-points.ts";
import { synthesize } from "./synthesis.ts";

/*
 * `sam local start-api -t cdk.out/hosted-mail-dev.template.json` reads these parts of a template:
 * - of a function: its runtime, its handler, and in `aws:asset:path` the folder of its code, beside the template
 * - of the gateway: the method and the path of each route, and the logical id of its function in a URI of a fixed form
 */
const template = synthesize(lambdas);
const functions = template.findResources("AWS::Lambda::Function");

const folder = mkdtempSync(join(tmpdir(), "sam-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("the folder of a function's code lies beside the template, and has the handler that the template names", async () => {
  const wanted = new Set(["me.get", "fallback"]);
  const few = lambdas.filter(({ name }) => wanted.has(name));
  await bundleLambdas(few, join(folder, "bundles"));
  const app = createApp(join(folder, "out"));
  const stack = addStack(
    app,
    { lambdas: few, workers: [] },
    join(folder, "bundles"),
    readConfig(() => undefined, {}),
  );
  app.synth();
  const { Resources } = createRequire(import.meta.url)(join(folder, "out", `${stack.stackName}.template.json`));
  for (const { name } of few) {
    const { Metadata, Properties } = Resources[functionId(name)];
    const code = join(folder, "out", Metadata["aws:asset:path"]);
    expect(Metadata["aws:asset:property"]).toBe("Code");
    expect(basename(code)).toBe(Metadata["aws:asset:path"]);
    expect(readdirSync(code)).toEqual(expect.arrayContaining(["index.js", "init.mjs", "package.json"]));
    const [file = "", exported = ""] = Properties.Handler.split(".");
    expect(await import(join(code, `${file}.mjs`))).toHaveProperty(exported, expect.any(Function));
  }
});

test.each(lambdas)(
  "$name is a function with a runtime that SAM has, and its logical id follows from its name",
  (spec) => {
    expect(functions[functionId(spec.name)]).toMatchObject({
      Properties: { Runtime: "nodejs24.x", Handler: "init.handler", Environment: { Variables: expect.any(Object) } },
      Metadata: { "aws:asset:path": expect.stringMatching(/^asset\.[0-9a-f]{64}/), "aws:asset:property": "Code" },
    });
  },
);

type Operation = Record<string, { payloadFormatVersion: string; uri: { "Fn::Sub": string } }>;

test("every trigger is a route of payload 2.0 whose URI leads to its function, and the route of the fallback is `$default`", () => {
  const [{ Properties }] = Object.values(template.findResources("AWS::ApiGatewayV2::Api")) as [
    { Properties: { Body: { openapi: string; paths: Record<string, Record<string, Operation>> } } },
  ];
  const { openapi, paths } = Properties.Body;
  expect(openapi).toMatch(/^3\.0\./);
  const uri = (id: string) =>
    `arn:\${AWS::Partition}:apigateway:\${AWS::Region}:lambda:path/2015-03-31/functions/\${${id}.Arn}/invocations`;
  const at = ({ name, triggers }: LambdaSpec) => requestsTo(triggers).map((trigger) => ({ name, trigger }));
  for (const { name, trigger } of lambdas.flatMap(at)) {
    const [method = "", path = trigger] = trigger.split(" ");
    const key = trigger === "$default" ? "x-amazon-apigateway-any-method" : method.toLowerCase();
    expect(paths[path]?.[key]?.["x-amazon-apigateway-integration"]).toMatchObject({
      payloadFormatVersion: "2.0",
      uri: { "Fn::Sub": uri(functionId(name)) },
    });
  }
});
