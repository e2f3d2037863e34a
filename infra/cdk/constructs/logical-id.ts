import { CfnResource } from "aws-cdk-lib";
import type { Construct } from "constructs";

/** Sets the logical id of a construct's main resource: the resource's name in the template. */
export function setLogicalId<C extends Construct>(construct: C, logicalId: string): C {
  const resource = construct.node.defaultChild;
  if (!CfnResource.isCfnResource(resource)) throw new Error(`${construct.node.path} is not a resource`);
  resource.overrideLogicalId(logicalId);
  return construct;
}
