import { expect, test } from "vitest";

import { settings as example } from "../../../../infra/stages/example.ts";
import { type Template, manySpecs, only, spec, synthesizeAll } from "../synthesis.ts";

const { publicUrl: _, webHost: __, webAddresses: ___, ...settings } = example;
const given = { ...settings, edge: undefined, routeThrottles: {}, stage: "blue", canary: true };
const { main, nested } = synthesizeAll(manySpecs(190), given);

const countOf = (template: Template): number => Object.keys(template.toJSON().Resources).length;

test("no stack exceeds CloudFormation's limits, with more functions than the product has", () => {
  expect(nested).toHaveLength(3);
  for (const template of [main, ...nested]) {
    expect(countOf(template)).toBeLessThanOrEqual(450);
    expect(Object.keys(template.findOutputs("*")).length).toBeLessThanOrEqual(200);
  }
});

test("a new version gets 10 % of the calls for five minutes, and is rolled back if the rollback alarm goes off", () => {
  const [alarmId, alarm] = Object.entries(main.findResources("AWS::CloudWatch::Alarm")).find(([id]) =>
    id.startsWith("Rollback"),
  ) ?? ["", {}];
  expect(alarmId).not.toBe("");
  expect(alarm["Properties"]).toMatchObject({ MetricName: "Faults", Period: 60, Threshold: 5 });
  for (const template of nested) {
    const aliases = Object.values(template.findResources("AWS::Lambda::Alias"));
    const groups = template.findResources("AWS::CodeDeploy::DeploymentGroup");
    expect(aliases).toHaveLength(Object.keys(template.findResources("AWS::Lambda::Function")).length);
    for (const { Properties, UpdatePolicy } of aliases) {
      expect(Properties.Name).toBe("live");
      const { DeploymentGroupName, ApplicationName } = UpdatePolicy.CodeDeployLambdaAliasUpdate;
      expect(groups[DeploymentGroupName.Ref]?.["Properties"]).toMatchObject({
        ApplicationName,
        DeploymentConfigName: "CodeDeployDefault.LambdaCanary10Percent5Minutes",
        AlarmConfiguration: { Enabled: true, Alarms: [{ Name: alarm["Properties"].AlarmName }] },
        AutoRollbackConfiguration: { Enabled: true, Events: expect.arrayContaining(["DEPLOYMENT_STOP_ON_ALARM"]) },
      });
    }
  }
});

test("the rollback alarm counts faults, but not a 503, because functions answer 503 on purpose", () => {
  const [, accessLogs] = only(main, "AWS::ApiGatewayV2::Stage");
  const [filter, ...others] = Object.values(main.findResources("AWS::Logs::MetricFilter")).filter(
    ({ Properties }) => Properties.MetricTransformations[0].MetricName === "Faults",
  );
  expect(others).toEqual([]);
  const [apiId] = only(main, "AWS::ApiGatewayV2::Api");
  expect(filter?.["Properties"].FilterPattern).toEqual({
    "Fn::Join": [
      "",
      ['{ ($.api_id = "', { Ref: apiId }, '") && (($.status = "500") || ($.status = "502") || ($.status = "504")) }'],
    ],
  });
  expect(accessLogs["Properties"].AccessLogSettings.DestinationArn["Fn::GetAtt"][0]).toBe(
    filter?.["Properties"].LogGroupName.Ref,
  );
  expect(JSON.parse(accessLogs["Properties"].AccessLogSettings.Format)).toMatchObject({
    api_id: "$context.apiId",
    status: "$context.status",
  });
});

test("the gateway invokes the alias of each function", () => {
  const { paths } = only(main, "AWS::ApiGatewayV2::Api")[1]["Properties"].Body;
  const operations = Object.values<Record<string, Record<string, { uri: unknown }>>>(paths).flatMap(Object.values);
  expect(operations).toHaveLength(190);
  const outputs = nested.flatMap((template) => Object.values(template.findOutputs("*")));
  const aliases = nested.flatMap((template) => Object.keys(template.findResources("AWS::Lambda::Alias")));
  expect(aliases.filter((id) => outputs.some(({ Value }) => Value.Ref === id))).toHaveLength(190);
  for (const operation of operations) {
    const [, { Target }] = operation["x-amazon-apigateway-integration"].uri["Fn::Sub"];
    expect(Target["Fn::GetAtt"][1]).toMatch(/^Outputs\.\w+live\w+Ref$/);
  }
});

test("without the setting there are no versions, and one stack", () => {
  const plain = synthesizeAll([spec("me.get")], { ...given, canary: false });
  expect(plain.nested).toEqual([]);
  expect(plain.main.findResources("AWS::Lambda::Version")).toEqual({});
});
