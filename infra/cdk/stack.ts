import { App, CfnOutput, Stack, Validations } from "aws-cdk-lib";
import recommendedFlags from "aws-cdk-lib/recommended-feature-flags.json" with { type: "json" };
import { AwsSolutionsChecks } from "cdk-nag";

import type { Config } from "../config/config.ts";
import { featureAndPriceVariables } from "../config/features.ts";
import { type LambdaSpec, web, type WorkerSpec } from "../entry-points.ts";
import { addDomain, addGateway, addInvocations, addWebGateway, type Invocable } from "./constructs/api.ts";
import { addCanaryFunctions, addRollbackAlarm } from "./constructs/canary.ts";
import { addEdge, viewerAddressHeader, addOriginAuthorizer } from "./constructs/edge.ts";
import { addFunctions, addWebFunction, type Common } from "./constructs/functions.ts";
import { addRotation } from "./constructs/rotation.ts";
import { addFilesBucket, addSecretsKey, addTable, addBackup } from "./constructs/storage.ts";
import { addWorkers } from "./constructs/workers.ts";
import { addAlarms } from "./monitoring/alarms.ts";
import { addDashboard } from "./monitoring/dashboard.ts";
import { addLogGroup, addLogMetrics } from "./monitoring/logs.ts";
import { addCostWatch, addTargets } from "./monitoring/targets.ts";

/** The functions of a stack: the Lambdas that answer requests, and the workers. */
export type Specs = { lambdas: readonly LambdaSpec[]; workers: readonly WorkerSpec[] };

/**
 * Adds the whole product to `app`: one stack, and a second stack if the settings have an edge (CloudFront and AWS WAF
 * in front of the gateway). `bundleDir` is the output folder of `bundleLambdas`.
 */
export function addStack(app: App, { lambdas, workers }: Specs, bundleDir: string, config: Config): Stack {
  const { stage, logLevel } = config;
  const stack = new Stack(app, `hosted-mail-${stage}`, {
    description: "Public customer API for hosted mail",
    // CloudFormation accepts templates of at most 1 MB.
    suppressTemplateIndentation: true,
    // CloudFormation applies these tags to the resources of the stack.
    tags: { service: "hosted-mail", stage },
  });
  const common = addCommon(stack, bundleDir, config);
  const { table, logGroup } = common;
  if (config.backup) addBackup(stack, table, stage, config.backup);
  const functions: Map<string, Invocable> = config.canary
    ? addCanaryFunctions(stack, lambdas, common)
    : addFunctions(stack, lambdas, common);
  if (config.edge) {
    addEdge(app, config, config.edge);
    addOriginAuthorizer(stack, config.edge, common, functions);
  }
  if (config.webHost !== undefined) functions.set(web.name, addWebFunction(stack, common));
  const invocations = addInvocations(stack, functions);
  const accessLogs = addLogGroup(stack, "AccessLogs", config.logRetentionDays);
  const gateway = addGateway(stack, lambdas, invocations, accessLogs, config);
  if (config.canary) addRollbackAlarm(stack, gateway.api.ref, accessLogs, stage);
  addDomain(stack, gateway, config);
  const webApi = config.webHost === undefined ? undefined : addWebGateway(stack, invocations, accessLogs, config);
  const { mailSecretName, mailSecretRotationDays: days } = config;
  if (mailSecretName !== undefined && days !== undefined) addRotation(stack, mailSecretName, days, common);
  const added = addWorkers(stack, workers, { ...common, stage, logLevel });
  const apiId = gateway.api.ref;
  const logMetrics = addLogMetrics(stack, { functions: logGroup, access: accessLogs }, stage);
  const hasMailEndpoints = config.mailSecretName !== undefined;
  const watched = { ...added, apiId, latencyAlarmMs: config.latencyAlarmMs, table, logMetrics, hasMailEndpoints };
  const targets = addTargets(stack, config);
  const alarms = addAlarms(stack, watched, targets);
  addDashboard(stack, { ...watched, alarms, stage, logGroup });
  addCostWatch(stack, config, targets.ticket);
  const outputs = {
    ApiUrl: config.publicUrl ?? gateway.api.attrApiEndpoint,
    ApiId: apiId,
    ...(webApi ? { WebUrl: webApi.attrApiEndpoint } : {}),
    TableName: table.tableName,
    FilesBucketName: common.resources.files.bucketName,
    SecretsKeyId: common.resources.secretsKey.keyId,
    FunctionLogGroup: logGroup.logGroupName,
    AccessLogGroup: accessLogs.logGroupName,
  };
  for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
  return stack;
}

/**
 * Adds the table, the key, the bucket and the log group of the functions. Returns the properties that all functions
 * share.
 */
function addCommon(stack: Stack, bundleDir: string, config: Config): Common {
  const table = addTable(stack, config.restoredTable);
  return {
    table,
    resources: { secretsKey: addSecretsKey(stack, config.stage), files: addFilesBucket(stack), config },
    logGroup: addLogGroup(stack, "FunctionLogs", config.logRetentionDays),
    bundleDir,
    trace: config.trace,
    environment: {
      TABLE_NAME: table.tableName,
      ISSUERS: config.issuers,
      LOG_LEVEL: config.logLevel,
      ...featureAndPriceVariables(config),
      ALLOWED_ORIGINS: config.allowedOrigins.join(","),
      ...(config.returnOrigins.length === 0 ? {} : { RETURN_ORIGINS: config.returnOrigins.join(",") }),
      NS_ZONE: config.nsZone,
      MAIL_ZONE: config.mailZone,
      ...(config.webHost === undefined ? {} : { WEB_HOST: config.webHost }),
      ...(config.webAddresses.length === 0 ? {} : { WEB_ADDRESSES: config.webAddresses.join(",") }),
      ...(config.blocklistZones.length === 0 ? {} : { BLOCKLIST_ZONES: config.blocklistZones.join(",") }),
      ...(config.publicUrl === undefined ? {} : { PUBLIC_URL: config.publicUrl }),
      ...(config.readOnly === undefined ? {} : { READ_ONLY: config.readOnly }),
      ...(config.edge === undefined ? {} : { VIEWER_ADDRESS_HEADER: viewerAddressHeader }),
    },
  };
}

/** Creates an app whose synthesis fails on a finding of cdk-nag's AwsSolutions, unless the finding is acknowledged. */
export function createApp(outdir: string): App {
  const app = new App({
    outdir,
    treeMetadata: false,
    context: {
      ...recommendedFlags,
      // `sam local` needs these two keys to find the code of a function. The CDK CLI sets them, but the app also runs
      // without the CDK CLI.
      "aws:cdk:enable-asset-metadata": true,
      "aws:cdk:enable-path-metadata": true,
    },
  });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return app;
}
