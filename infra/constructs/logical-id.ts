import { CfnResource } from "aws-cdk-lib";
import type { Construct } from "constructs";

/** Gives the one resource of a construct a name of our own in the template. */
export function setLogicalId<C extends Construct>(construct: C, logicalId: string): C {
  const resource = construct.node.defaultChild;
  if (!CfnResource.isCfnResource(resource)) throw new Error(`${construct.node.path} is not a resource`);
  resource.overrideLogicalId(logicalId);
  return construct;
}
