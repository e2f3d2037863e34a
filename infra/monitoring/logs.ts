import { RemovalPolicy } from "aws-cdk-lib";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

/** A log group whose lines expire. The functions share one; a stream's name begins with its function's. */
export const addLogGroup = (scope: Construct, id: string, retention: RetentionDays): LogGroup =>
  new LogGroup(scope, id, { retention, removalPolicy: RemovalPolicy.RETAIN });
