import { runInNewContext } from "node:vm";

import { expect, test } from "vitest";

import { lambdas } from "../../../../infra/entry-points.ts";
import { settings as example } from "../../../../infra/stages/example.ts";
import { type Template, only, spec, synthesize, synthesizeAll } from "../synthesis.ts";

const { publicUrl: _, webHost: __, webAddresses: ___, ...settings } = example;
const named = { ...settings, edge: undefined, routeThrottles: {} };

/** The templates of both stacks of a stage with an edge. */
function withEdge(more: Record<string, unknown> = {}): { main: Template; edge: Template } {
  const given = { ...settings, routeThrottles: {}, stage: "blue", ...more };
  const { main, byName } = synthesizeAll([spec("me.get")], given);
  const edge = byName.get("hosted-mail-blue-edge");
  if (edge === undefined) throw new Error("there is no edge");
  return { main, edge };
}

const { main, edge } = withEdge();
const bodyOf = (template: Template) => only(template, "AWS::ApiGatewayV2::Api")[1]["Properties"].Body;
const [, distribution] = only(edge, "AWS::CloudFront::Distribution");
const config = distribution["Properties"].DistributionConfig;

test("with a domain name, the gateway is reached by this name over TLS 1.2, and not by API Gateway's own name", () => {
  const template = synthesize([spec("me.get")], named);
  const [id, domain] = only(template, "AWS::ApiGatewayV2::DomainName");
  expect(domain["Properties"]).toEqual({
    DomainName: "api.example.com",
    DomainNameConfigurations: [
      { CertificateArn: example.certificateArn, EndpointType: "REGIONAL", SecurityPolicy: "TLS_1_2" },
    ],
  });
  expect(bodyOf(template).servers).toEqual([
    {
      url: "https://api.example.com",
      "x-amazon-apigateway-endpoint-configuration": { disableExecuteApiEndpoint: true },
    },
  ]);
  const [, mapping] = only(template, "AWS::ApiGatewayV2::ApiMapping");
  expect(mapping).toMatchObject({ Properties: { Stage: "$default", DomainName: { Ref: id } }, DependsOn: ["Stage"] });
  const [, record] = only(template, "AWS::Route53::RecordSet");
  expect(record["Properties"]).toMatchObject({
    Name: "api.example.com",
    Type: "A",
    HostedZoneId: example.hostedZoneId,
  });
  expect(Object.values(template.findOutputs("ApiUrl"))).toMatchObject([{ Value: "https://api.example.com" }]);
  const { Variables } =
    template.findResources("AWS::Lambda::Function")["MeGetFunction"]?.["Properties"].Environment ?? {};
  expect(Variables.PUBLIC_URL).toBe("https://api.example.com");
  expect(Variables).not.toHaveProperty("VIEWER_ADDRESS_HEADER");
});

test("without a zone, an output has the target of the DNS record; without a domain name, there is no domain at all", () => {
  const zoneless = synthesize([spec("me.get")], { ...named, hostedZoneId: undefined });
  expect(zoneless.findResources("AWS::Route53::RecordSet")).toEqual({});
  expect(Object.keys(zoneless.findOutputs("GatewayTarget"))).toHaveLength(1);
  const plain = synthesize([spec("me.get")]);
  expect(plain.findResources("AWS::ApiGatewayV2::DomainName")).toEqual({});
  expect(bodyOf(plain)).not.toHaveProperty("servers");
  expect(bodyOf(plain)).not.toHaveProperty("components");
});

test("CloudFront keeps no error, so no caller gets the error of another caller", () => {
  const kept: { ErrorCode: number; ErrorCachingMinTTL: number }[] = config.CustomErrorResponses;
  expect(kept.every(({ ErrorCachingMinTTL }) => ErrorCachingMinTTL === 0)).toBe(true);
  expect(kept.map(({ ErrorCode }) => ErrorCode)).toEqual([400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504]);
});

test("a firewall before CloudFront stops floods and known attacks, and has no rule about the size of bodies", () => {
  const [id, acl] = only(edge, "AWS::WAFv2::WebACL");
  expect(config.WebACLId).toEqual({ "Fn::GetAtt": [id, "Arn"] });
  expect(acl["Properties"]).toMatchObject({ Scope: "CLOUDFRONT", DefaultAction: { Allow: {} } });
  const rules: { Name: string; Statement: { RateBasedStatement?: unknown } }[] = acl["Properties"].Rules;
  expect(rules.map(({ Name }) => Name)).toEqual([
    "OneAddress",
    "OneToken",
    "AWSManagedRulesAmazonIpReputationList",
    "AWSManagedRulesKnownBadInputsRuleSet",
  ]);
  expect(rules[0]?.Statement.RateBasedStatement).toMatchObject({ Limit: 10_000, AggregateKeyType: "IP" });
});

type Statement = {
  NotStatement?: { Statement: Statement };
  ByteMatchStatement?: { PositionalConstraint: string; SearchString: string };
};

/** Tells whether a statement of AWS WAF matches a path. Throws for a statement that this test does not know. */
function matches({ NotStatement, ByteMatchStatement }: Statement, path: string): boolean {
  if (NotStatement) return !matches(NotStatement.Statement, path);
  if (ByteMatchStatement?.PositionalConstraint === "STARTS_WITH")
    return path.startsWith(ByteMatchStatement.SearchString);
  throw new Error("This test does not know the statement.");
}

type RateRule = {
  Statement: {
    RateBasedStatement?: {
      Limit: number;
      AggregateKeyType: "IP" | "CUSTOM_KEYS";
      CustomKeys?: { Header: { Name: string } }[];
      ScopeDownStatement: Statement;
    };
  };
  Action: { Block: { CustomResponse: { ResponseCode: number } } };
};

type Sent = [address: string, path: string, token?: string];

/**
 * The status with which the template's own rules answer each request. Undefined for a request that passes. All requests
 * are within five minutes. AWS's managed groups of rules run only in AWS: here they let every request pass.
 */
function rehearse(requests: readonly Sent[]): (number | undefined)[] {
  const rules: RateRule[] = only(edge, "AWS::WAFv2::WebACL")[1]["Properties"].Rules;
  const limits = rules.flatMap(({ Statement: { RateBasedStatement: limit }, Action }) =>
    limit ? [{ limit, status: Action.Block.CustomResponse.ResponseCode, counts: new Map<string, number>() }] : [],
  );
  return requests.map(([address, path, token]) => {
    for (const { limit, status, counts } of limits) {
      const header = limit.CustomKeys?.[0]?.Header.Name;
      if (header !== undefined && header !== "authorization") throw new Error("This test does not know the key.");
      const key = header === undefined ? address : token;
      if (key === undefined || !matches(limit.ScopeDownStatement, path)) continue;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count > limit.Limit) return status;
    }
    return undefined;
  });
}

test("a flood with one token from many addresses gets 429, and requests with another token or without a token pass", () => {
  const from = (index: number): string => `192.0.${index % 256}.1`;
  const flood = Array.from({ length: 10_001 }, (_, index): Sent => [from(index), "/v1/public/me", "Bearer loud"]);
  const answers = rehearse([...flood, [from(1), "/v1/public/me", "Bearer quiet"], [from(1), "/docs"]]);
  expect(answers.slice(9_999)).toEqual([undefined, 429, undefined, undefined]);
});

test("a flood of one address gets 429, and mail servers and other addresses pass", () => {
  const flood = Array.from({ length: 10_001 }, () => ["192.0.2.1", "/v1/public/me"] as Sent);
  const answers = rehearse([...flood, ["192.0.2.2", "/v1/public/me"], ["192.0.2.1", "/docs"]]);
  expect(answers.slice(9999)).toEqual([undefined, 429, undefined, 429]);
  const served = lambdas.flatMap(({ triggers }) => triggers).filter((trigger) => trigger.includes("/mail/"));
  const paths = served.map((trigger) => trigger.split(" ")[1] ?? "");
  expect(paths.length).toBeGreaterThan(0);
  const asking = Array.from({ length: 20_000 }, (_, index): Sent => ["192.0.2.3", paths[index % paths.length] ?? ""]);
  expect(new Set(rehearse(asking))).toEqual(new Set([undefined]));
});

test("CloudFront passes every method on over TLS, caches nothing, and sends a secret that is in no template", () => {
  expect(config.Aliases).toEqual(["api.example.com"]);
  expect(config.DefaultCacheBehavior).toMatchObject({
    ViewerProtocolPolicy: "https-only",
    // AWS's policy CachingDisabled.
    CachePolicyId: "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",
    // AWS's policy AllViewerExceptHostHeader.
    OriginRequestPolicyId: "b689b0a8-53d0-40ab-baf2-68738e2966ac",
  });
  expect(config.DefaultCacheBehavior.AllowedMethods).toEqual(
    expect.arrayContaining(["GET", "POST", "PATCH", "DELETE"]),
  );
  expect(config.Origins).toMatchObject([
    {
      DomainName: "origin.api.example.com",
      CustomOriginConfig: { OriginProtocolPolicy: "https-only", OriginSSLProtocols: ["TLSv1.2"] },
      OriginCustomHeaders: [
        {
          HeaderName: "x-origin-secret",
          HeaderValue: "{{resolve:secretsmanager:hosted-mail/example/origin:SecretString:first::}}",
        },
      ],
    },
  ]);
  expect(config.ViewerCertificate.MinimumProtocolVersion).toBe("TLSv1.2_2021");
});

test("another key of the secret changes the template, so the next deployment uses the new key", () => {
  const { edge: other } = withEdge({ edge: { ...(example.edge as object), secretKey: "second" } });
  expect(JSON.stringify(other.toJSON())).toContain("SecretString:second");
});

test("every route of the gateway needs the secret, and only the authorizer may read the secret", () => {
  const body = bodyOf(main);
  for (const item of Object.values<Record<string, { security: unknown }>>(body.paths)) {
    for (const operation of Object.values(item)) expect(operation.security).toEqual([{ origin: [] }]);
  }
  const asked = body.components.securitySchemes.origin["x-amazon-apigateway-authorizer"];
  expect(asked).toMatchObject({
    type: "request",
    identitySource: "$request.header.x-origin-secret",
    enableSimpleResponses: true,
    authorizerPayloadFormatVersion: "2.0",
  });
  expect(asked.authorizerUri["Fn::Sub"]).toContain("${OriginAuthorizerFunction.Arn}");
  const reading = Object.entries(main.findResources("AWS::IAM::Role")).filter(([, role]) =>
    JSON.stringify(role).includes(":secret:hosted-mail/example/origin-??????"),
  );
  expect(reading.map(([id]) => id)).toEqual(["OriginAuthorizerRole"]);
  expect(only(main, "AWS::ApiGatewayV2::DomainName")[1]["Properties"].DomainName).toBe("origin.api.example.com");
});

test("functions read the caller's address from the header that CloudFront overwrites", () => {
  const { Variables } = main.findResources("AWS::Lambda::Function")["MeGetFunction"]?.["Properties"].Environment ?? {};
  expect(Variables.VIEWER_ADDRESS_HEADER).toBe("x-viewer-address");
  const [, noting] = only(edge, "AWS::CloudFront::Function");
  const event = { request: { headers: { "x-viewer-address": { value: "forged" } } }, viewer: { ip: "198.51.100.7" } };
  const run = `(${noting["Properties"].FunctionCode})(event)`;
  expect(runInNewContext(run, { event })).toEqual({ headers: { "x-viewer-address": { value: "198.51.100.7" } } });
});
