import { CfnOutput, Duration, SecretValue, Stack, Validations, type App } from "aws-cdk-lib";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import * as cloudfront from "aws-cdk-lib/aws-cloudfront";
import { HttpOrigin } from "aws-cdk-lib/aws-cloudfront-origins";
import { CfnRecordSet } from "aws-cdk-lib/aws-route53";
import { CfnWebACL } from "aws-cdk-lib/aws-wafv2";
import type { Construct } from "constructs";

import type { Config } from "../../config/config.ts";
import type { Edge } from "../../config/settings.ts";
import { originAuthorizer } from "../../entry-points.ts";
import type { Invocable } from "./api.ts";
import { addFunction, type Common } from "./functions.ts";
import { allow, readSecret, secretArnOf } from "./permissions.ts";

/**
 * The header with the caller's IP address. CloudFront sets this header, because the gateway itself sees only
 * CloudFront's addresses.
 */
export const viewerAddressHeader = "x-viewer-address";

/** The id of the hosted zone that Route 53 uses for all CloudFront distributions. */
const distributionsZone = "Z2FDTNDATAQYW2";

/** The error statuses whose caching time can be set in CloudFront. */
const cacheableErrors = [400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504];

/**
 * Adds CloudFront with AWS WAF under the host name that customers call. AWS WAF cannot protect an HTTP API directly.
 * CloudFront and AWS WAF are a separate stack, because AWS WAF for CloudFront has to be in us-east-1. The two stacks
 * share only names in the configuration, so neither waits for the other. Settings with an edge always have
 * `domainName`.
 */
export function addEdge(app: App, { stage, domainName = "", hostedZoneId }: Config, edge: Edge): Stack {
  const stack = new Stack(app, `hosted-mail-${stage}-edge`, {
    description: "CloudFront and AWS WAF in front of the customer API for hosted mail",
    env: { region: "us-east-1" },
    tags: { service: "hosted-mail", stage },
  });
  const distribution = addDistribution(stack, domainName, edge, addFirewall(stack, edge).attrArn);
  if (hostedZoneId === undefined) {
    new CfnOutput(stack, "EdgeTarget", { value: distribution.domainName, description: `CNAME of ${domainName}` });
    return stack;
  }
  for (const type of ["A", "AAAA"]) {
    new CfnRecordSet(stack, `Record${type}`, {
      hostedZoneId,
      name: domainName,
      type,
      aliasTarget: { dnsName: distribution.domainName, hostedZoneId: distributionsZone },
    });
  }
  return stack;
}

function addDistribution(stack: Stack, domainName: string, edge: Edge, webAclId: string): cloudfront.Distribution {
  const secret = SecretValue.secretsManager(edge.secretName, { jsonField: edge.secretKey });
  const distribution = new cloudfront.Distribution(stack, "Distribution", {
    comment: domainName,
    domainNames: [domainName],
    certificate: Certificate.fromCertificateArn(stack, "Certificate", edge.certificateArn),
    minimumProtocolVersion: cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021,
    httpVersion: cloudfront.HttpVersion.HTTP2_AND_3,
    webAclId,
    // By default CloudFront caches an error for ten seconds, even if it caches nothing else. Other callers would then
    // get the cached error. With the time 0, each caller gets an answer of the gateway.
    errorResponses: cacheableErrors.map((httpStatus) => ({ httpStatus, ttl: Duration.seconds(0) })),
    defaultBehavior: {
      origin: new HttpOrigin(edge.originDomainName, {
        protocolPolicy: cloudfront.OriginProtocolPolicy.HTTPS_ONLY,
        originSslProtocols: [cloudfront.OriginSslPolicy.TLS_V1_2],
        readTimeout: Duration.seconds(30),
        // CloudFormation reads the secret when it deploys. The template contains only the name of the secret.
        customHeaders: { "x-origin-secret": secret.unsafeUnwrap() },
      }),
      allowedMethods: cloudfront.AllowedMethods.ALLOW_ALL,
      cachePolicy: cloudfront.CachePolicy.CACHING_DISABLED,
      originRequestPolicy: cloudfront.OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
      viewerProtocolPolicy: cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
      functionAssociations: [
        { eventType: cloudfront.FunctionEventType.VIEWER_REQUEST, function: addViewerAddress(stack) },
      ],
    },
  });
  Validations.of(distribution).acknowledge(
    { id: "AwsSolutions-CFR1", reason: "Customers can be in any country." },
    {
      id: "AwsSolutions-CFR3",
      reason: "The gateway behind CloudFront logs each request, and AWS WAF counts the requests that it refuses.",
    },
  );
  return distribution;
}

/**
 * Adds the function that sets the header `viewerAddressHeader` to the caller's IP address. The function overwrites a
 * value that the caller sent.
 */
const addViewerAddress = (scope: Construct): cloudfront.Function =>
  new cloudfront.Function(scope, "NoteViewer", {
    comment: "Adds the viewer's address as a header",
    runtime: cloudfront.FunctionRuntime.JS_2_0,
    code: cloudfront.FunctionCode.fromInline(
      `function handler(event) { event.request.headers["${viewerAddressHeader}"] = { value: event.viewer.ip }; return event.request; }`,
    ),
  });

const visibility = (metricName: string): CfnWebACL.VisibilityConfigProperty => ({
  cloudWatchMetricsEnabled: true,
  sampledRequestsEnabled: true,
  metricName,
});

const managedRule = (priority: number, name: string): CfnWebACL.RuleProperty => ({
  name,
  priority,
  overrideAction: { none: {} },
  statement: { managedRuleGroupStatement: { vendorName: "AWS", name } },
  visibilityConfig: visibility(name),
});

/**
 * Matches requests of mail servers. AWS WAF's limits for one IP address and for one token do not hold for these
 * requests. All of these requests come from the few addresses of the mail proxies. Mail servers present a secret, and
 * have limits of their own.
 */
const ofMailServers: CfnWebACL.StatementProperty = {
  byteMatchStatement: {
    fieldToMatch: { uriPath: {} },
    positionalConstraint: "STARTS_WITH",
    searchString: "/internal/mail/",
    textTransformations: [{ priority: 0, type: "NONE" }],
  },
};

/**
 * Adds the rules of AWS WAF. They refuse:
 * - too many requests from one IP address or with one token,
 * - requests from addresses that AWS knows as attackers,
 * - requests that are known exploits.
 *
 * AWS's common rules are left out: they refuse bodies over 8 KB and text that looks like HTML. The API accepts both.
 */
function addFirewall(scope: Construct, { requestsPer5Minutes, requestsPerTokenPer5Minutes }: Edge): CfnWebACL {
  const flood: CfnWebACL.RuleProperty = {
    name: "OneAddress",
    priority: 0,
    action: { block: { customResponse: { responseCode: 429 } } },
    statement: {
      rateBasedStatement: {
        limit: requestsPer5Minutes,
        aggregateKeyType: "IP",
        evaluationWindowSec: 300,
        scopeDownStatement: { notStatement: { statement: ofMailServers } },
      },
    },
    visibilityConfig: visibility("OneAddress"),
  };
  // This rule does not count requests without the header `authorization`.
  const oneToken: CfnWebACL.RuleProperty = {
    name: "OneToken",
    priority: 1,
    action: { block: { customResponse: { responseCode: 429 } } },
    statement: {
      rateBasedStatement: {
        limit: requestsPerTokenPer5Minutes,
        aggregateKeyType: "CUSTOM_KEYS",
        customKeys: [{ header: { name: "authorization", textTransformations: [{ priority: 0, type: "NONE" }] } }],
        evaluationWindowSec: 300,
        scopeDownStatement: { notStatement: { statement: ofMailServers } },
      },
    },
    visibilityConfig: visibility("OneToken"),
  };
  return new CfnWebACL(scope, "Firewall", {
    scope: "CLOUDFRONT",
    defaultAction: { allow: {} },
    rules: [
      flood,
      oneToken,
      managedRule(2, "AWSManagedRulesAmazonIpReputationList"),
      managedRule(3, "AWSManagedRulesKnownBadInputsRuleSet"),
    ],
    visibilityConfig: visibility("All"),
  });
}

/**
 * Adds the function that authorizes requests for the gateway. The function may read only the edge's secret. The secret
 * has a replica in this region.
 */
export function addOriginAuthorizer(
  scope: Construct,
  { secretName }: Edge,
  common: Common,
  functions: Map<string, Invocable>,
): void {
  const { name, access, timeoutSeconds = 5 } = originAuthorizer;
  const added = addFunction(
    scope,
    {
      name,
      access,
      side: "request",
      description: "Checks that a request came through CloudFront",
      timeoutSeconds,
      policies: { secret: allow(readSecret, secretArnOf(scope, secretName)) },
    },
    { ...common, environment: { ORIGIN_SECRET_NAME: secretName } },
  );
  functions.set(name, added);
}
