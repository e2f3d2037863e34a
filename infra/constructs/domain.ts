import { CfnOutput } from "aws-cdk-lib";
import { CfnApiMapping, CfnDomainName } from "aws-cdk-lib/aws-apigatewayv2";
import { CfnRecordSet } from "aws-cdk-lib/aws-route53";
import type { Construct } from "constructs";

import type { Config } from "../config/config.ts";
import type { Gateway } from "./gateway.ts";

/** The name that the gateway itself has: CloudFront stands under the customers' one where there is an edge. */
export const gatewayName = ({ domainName, edge }: Pick<Config, "domainName" | "edge">): string | undefined =>
  edge?.originDomainName ?? domainName;

/** Gives the gateway its name, with a record in the zone if there is one, or the target for a record of one's own. */
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
