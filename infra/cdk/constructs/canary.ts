import { ArnFormat, Duration, NestedStack, Stack, Validations } from "aws-cdk-lib";
import { Alarm, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { CfnApplication, CfnDeploymentGroup } from "aws-cdk-lib/aws-codedeploy";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import { FilterPattern, type LogGroup, MetricFilter } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

import type { LambdaSpec } from "../../entry-points.ts";
import type { Invocable } from "./api.ts";
import { addFunctions, type Common } from "./functions.ts";

/**
 * The largest number of functions in a nested stack. CloudFormation allows 500 resources and 200 outputs in a stack. A
 * function has four resources in its nested stack: the function itself, a version, an alias and a deployment group.
 */
const functionsPerStack = 80;

/**
 * The name of the alarm that makes CodeDeploy roll a new version back. The nested stacks refer to the alarm by this
 * name, because a reference to the alarm itself would be circular: the alarm needs the gateway, and the gateway needs
 * the functions of the nested stacks.
 */
const rollbackAlarm = (scope: Construct): string => `${Stack.of(scope).stackName}-rollback`;

/**
 * Adds the functions that answer requests, in nested stacks because of CloudFormation's limits. A new version of a
 * function gets 10 % of the calls for five minutes, and then all calls. CodeDeploy rolls the version back if the
 * rollback alarm goes off. Returns the alias of each function. The gateway calls the aliases.
 */
export function addCanaryFunctions(
  stack: Stack,
  lambdas: readonly LambdaSpec[],
  common: Common,
): Map<string, Invocable> {
  const nested: NestedStack[] = [];
  const stackOf = (index: number): NestedStack => {
    const number = Math.floor(index / functionsPerStack);
    return (nested[number] ??= new NestedStack(stack, `Functions${number + 1}`));
  };
  const functions = addFunctions(stack, lambdas, common, stackOf);
  const shifts = new Map<Stack, Shift>();
  return new Map(
    [...functions].map(([name, added], index) => {
      const scope = stackOf(index);
      const shift = shifts.get(scope) ?? addShift(scope, rollbackAlarm(stack));
      shifts.set(scope, shift);
      return [name, addAlias(scope, name, added, shift)];
    }),
  );
}

/** The parts of CodeDeploy that the functions of a nested stack share. */
type Shift = { application: CfnApplication; role: Role; alarmName: string };

const shiftActions = ["lambda:GetAlias", "lambda:UpdateAlias", "lambda:GetProvisionedConcurrencyConfig"];

function addShift(scope: Stack, alarmName: string): Shift {
  const arnFormat = ArnFormat.COLON_RESOURCE_NAME;
  const functionArns = scope.formatArn({ service: "lambda", resource: "function", resourceName: "*", arnFormat });
  const role = new Role(scope, "ShiftRole", {
    assumedBy: new ServicePrincipal("codedeploy.amazonaws.com"),
    inlinePolicies: {
      shift: new PolicyDocument({
        statements: [
          new PolicyStatement({ actions: shiftActions, resources: [functionArns] }),
          // IAM cannot restrict this action to resources.
          new PolicyStatement({ actions: ["cloudwatch:DescribeAlarms"], resources: ["*"] }),
        ],
      }),
    },
  });
  const anyFunction = "arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:function:*";
  Validations.of(role).acknowledge(
    { id: "AwsSolutions-IAM5[Resource::*]", reason: "IAM cannot restrict DescribeAlarms to resources." },
    { id: `AwsSolutions-IAM5[Resource::${anyFunction}]`, reason: "CloudFormation chooses the names of the functions." },
  );
  return { application: new CfnApplication(scope, "Shifts", { computePlatform: "Lambda" }), role, alarmName };
}

/** Adds the alias `live` of a function. CodeDeploy moves the alias to a new version step by step. */
function addAlias(
  scope: Stack,
  name: string,
  added: lambda.Function,
  { application, role, alarmName }: Shift,
): lambda.Alias {
  const alias = new lambda.Alias(scope, `${name}.live`, {
    aliasName: "live",
    version: added.currentVersion as lambda.IVersion,
  });
  const group = new CfnDeploymentGroup(scope, `${name}.shift`, {
    applicationName: application.ref,
    serviceRoleArn: role.roleArn,
    deploymentConfigName: "CodeDeployDefault.LambdaCanary10Percent5Minutes",
    deploymentStyle: { deploymentType: "BLUE_GREEN", deploymentOption: "WITH_TRAFFIC_CONTROL" },
    alarmConfiguration: { enabled: true, alarms: [{ name: alarmName }] },
    autoRollbackConfiguration: {
      enabled: true,
      events: ["DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM", "DEPLOYMENT_STOP_ON_REQUEST"],
    },
  });
  const resource = alias.node.defaultChild as lambda.CfnAlias;
  resource.cfnOptions.updatePolicy = {
    codeDeployLambdaAliasUpdate: { applicationName: application.ref, deploymentGroupName: group.ref },
  };
  return alias;
}

/**
 * The statuses of answers that no function gives on purpose. They are strings, because the gateway logs a status as a
 * string.
 */
const faultStatuses = ["500", "502", "504"];

/**
 * Adds the alarm that makes CodeDeploy roll a new version back. The alarm goes off at five faults within a minute. A
 * 503 is no fault, because functions also answer 503 on purpose, for example to all writes while the setting `readOnly`
 * is on.
 */
export function addRollbackAlarm(scope: Construct, apiId: string, accessLogs: LogGroup, stage: string): void {
  const anyFault = FilterPattern.any(
    ...faultStatuses.map((status) => FilterPattern.stringValue("$.status", "=", status)),
  );
  const faults = new MetricFilter(scope, "FaultsFilter", {
    logGroup: accessLogs,
    metricNamespace: `HostedMail/${stage}`,
    metricName: "Faults",
    // The log also has the requests of the other gateway, whose function has no canary.
    filterPattern: FilterPattern.all(FilterPattern.stringValue("$.api_id", "=", apiId), anyFault),
    metricValue: "1",
  });
  new Alarm(scope, "Rollback", {
    alarmName: rollbackAlarm(scope),
    alarmDescription: "CodeDeploy rolls new versions of functions back while this alarm is on",
    metric: faults.metric({ statistic: "Sum", period: Duration.minutes(1) }),
    threshold: 5,
    evaluationPeriods: 1,
    treatMissingData: TreatMissingData.NOT_BREACHING,
  });
}
