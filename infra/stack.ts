import { App, CfnOutput, Stack, Validations } from "aws-cdk-lib";
import recommendedFlags from "aws-cdk-lib/recommended-feature-flags.json" with { type: "json" };
import { AwsSolutionsChecks } from "cdk-nag";

import { addAlarms } from "./alarms.ts";
import type { Config } from "./config.ts";
import { addFilesBucket } from "./files-bucket.ts";
import { addFunctions } from "./functions.ts";
import { addGateway } from "./gateway.ts";
import { addInvokeRoles } from "./invoke-roles.ts";
import type { LambdaSpec } from "./lambdas.ts";
import { addLogGroup } from "./logs.ts";
import { addSecretsKey } from "./secrets-key.ts";
import { addTable } from "./table.ts";
import { addAlarmTopic } from "./topic.ts";
import { addWorkers } from "./worker-functions.ts";
import type { WorkerSpec } from "./workers.ts";

/** The Lambdas of a stack: those that requests reach, and those that they do not. */
export type Specs = { lambdas: readonly LambdaSpec[]; workers: readonly WorkerSpec[] };

/** Puts the whole product into `app` as one stack. `bundleDir` is what `bundleLambdas` wrote. */
export function addStack(app: App, { lambdas, workers }: Specs, bundleDir: string, config: Config): Stack {
  const stack = new Stack(app, `hosted-mail-${config.stage}`, { description: "Public customer API for hosted mail" });
  const table = addTable(stack);
  const topic = config.alarmEmail === undefined ? undefined : addAlarmTopic(stack, config.alarmEmail);
  const common = {
    table,
    outside: {
      secretsKey: addSecretsKey(stack, config.stage),
      files: addFilesBucket(stack),
      payments: config,
      hosting: config,
      mail: config,
      mailServers: config,
    },
    logGroup: addLogGroup(stack, "FunctionLogs", config.logRetentionDays),
    bundleDir,
    environment: {
      TABLE_NAME: table.tableName,
      ISSUERS: config.issuers,
      LOG_LEVEL: config.logLevel,
      ALLOWED_ORIGINS: config.allowedOrigins.join(","),
      NS_ZONE: config.nsZone,
      MAIL_ZONE: config.mailZone,
      ...(config.publicUrl === undefined ? {} : { PUBLIC_URL: config.publicUrl }),
    },
  };
  const functions = addFunctions(stack, lambdas, common);
  const invokeRoles = addInvokeRoles(stack, functions);
  const accessLogs = addLogGroup(stack, "AccessLogs", config.logRetentionDays);
  const api = addGateway(stack, lambdas, invokeRoles, accessLogs, config);
  const { stage, logLevel } = config;
  const workerFunctions = addWorkers(stack, workers, { ...common, stage, logLevel, topic });
  addAlarms(stack, new Map([...functions, ...workerFunctions]), api.ref, topic);
  new CfnOutput(stack, "ApiUrl", { value: api.attrApiEndpoint });
  new CfnOutput(stack, "TableName", { value: table.tableName });
  return stack;
}

/** An app whose synthesis fails on a finding of cdk-nag's AwsSolutions. */
export function createApp(outdir: string): App {
  const app = new App({
    outdir,
    treeMetadata: false,
    context: {
      ...recommendedFlags,
      // What the CDK CLI sets itself; `sam local` finds the code of a function by it.
      "aws:cdk:enable-asset-metadata": true,
      "aws:cdk:enable-path-metadata": true,
    },
  });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return app;
}
