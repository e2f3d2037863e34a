import { CfnOutput } from "aws-cdk-lib";
import { EventBus } from "aws-cdk-lib/aws-events";
import type * as lambda from "aws-cdk-lib/aws-lambda";
import type { Topic } from "aws-cdk-lib/aws-sns";
import type { Construct } from "constructs";

import type { WorkerSpec } from "../workers.ts";
import { addPublisher } from "./change-stream.ts";
import type { Common } from "./functions.ts";
import { addRuleWorker } from "./rule-workers.ts";

/** What all workers have in common, and who hears of their failures. */
export type WorkerPlace = Common & { stage: string; logLevel: string; topic: Topic | undefined };

/** The event bus of the stage, and one function per worker with what wakes it. */
export function addWorkers(
  scope: Construct,
  workers: readonly WorkerSpec[],
  place: WorkerPlace,
): Map<string, lambda.Function> {
  if (workers.length === 0) return new Map();
  const bus = new EventBus(scope, "EventBus", { eventBusName: `hosted-mail-${place.stage}` });
  new CfnOutput(scope, "EventBusName", { value: bus.eventBusName });
  return new Map(
    workers.map((spec) => {
      const { source } = spec;
      const added =
        source === "changes"
          ? addPublisher(scope, spec, bus, place)
          : addRuleWorker(scope, { ...spec, source }, bus, place);
      return [spec.name, added];
    }),
  );
}
