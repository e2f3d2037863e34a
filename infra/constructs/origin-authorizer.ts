import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";

import type { Edge } from "../config/settings.ts";
import { originAuthorizer } from "../entry-points.ts";
import { addFunction, type Common } from "./functions.ts";
import { allow, readSecret, secretArnOf } from "./permissions.ts";

/**
 * Adds the function that authorizes requests for the gateway. It may read only the edge's secret, which has a replica
 * in this region.
 */
export function addOriginAuthorizer(
  scope: Construct,
  { secretName }: Edge,
  common: Common,
  functions: Map<string, LambdaFunction>,
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
