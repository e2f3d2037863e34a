import { Duration } from "aws-cdk-lib";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import { Rule, Schedule, type EventBus } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import * as lambda from "aws-cdk-lib/aws-lambda";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

import { addAlarm, period } from "./alarms.ts";
import { addDeadLetters, destination } from "./dead-letters.ts";
import { addFunction, allow } from "./functions.ts";
import type { WorkerPlace } from "./worker-functions.ts";
import type { WorkerSpec } from "./workers.ts";

/** What calls a worker, and how often again: EventBridge when Lambda does not take a call, Lambda when one fails. */
type Calls = {
  description: string;
  maxEventAge: Duration;
  handoverRetries: number;
  runRetries: number;
};

type Source = Exclude<WorkerSpec["source"], "changes">;

const calls: Record<Source, Calls> = {
  events: {
    description: "Called with every event on the bus",
    maxEventAge: Duration.hours(6),
    handoverRetries: 60,
    runRetries: 2,
  },
  schedule: {
    description: "Called every minute",
    // The next minute brings another one.
    maxEventAge: Duration.minutes(1),
    handoverRetries: 0,
    runRetries: 0,
  },
};

/** A function that a rule of EventBridge calls, and who hears of failures. */
export function addRuleWorker(
  scope: Construct,
  spec: WorkerSpec & { source: Source },
  bus: EventBus,
  place: WorkerPlace,
): lambda.Function {
  const { name, access, source, uses = [] } = spec;
  const { description, maxEventAge, runRetries } = calls[source];
  const deadLetters = addDeadLetters(scope, name, `Calls of ${name} that failed: see docs/events.md`, place.topic);
  const added = addFunction(
    scope,
    {
      name,
      access,
      description,
      timeoutSeconds: 60,
      ...(uses.includes("secrets") ? { secrets: "open" } : {}),
      policies: { dead_letters: allow(["sqs:SendMessage"], deadLetters.queueArn) },
    },
    place,
  );
  new lambda.EventInvokeConfig(scope, `${name}.invocations`, {
    function: added,
    maxEventAge,
    retryAttempts: runRetries,
    onFailure: destination(deadLetters),
  });
  addRule(scope, spec, { ...place, bus, added, deadLetters });
  return added;
}

type Ends = Pick<WorkerPlace, "topic" | "stage"> & { bus: EventBus; added: lambda.Function; deadLetters: Queue };

/** The rule, and the alarm when it could not call its function, whether or not that left a dead letter. */
function addRule(
  scope: Construct,
  { name, source }: { name: string; source: Source },
  { bus, added, deadLetters, topic, stage }: Ends,
): void {
  const { maxEventAge, handoverRetries: retryAttempts } = calls[source];
  const isOfBus = source === "events";
  // For a rule of another bus than the default one, `Ref` is more than the name that metrics go by.
  const ruleName = `${stage}-${name}`;
  new Rule(scope, `${name}.rule`, {
    ruleName,
    description: `Calls ${name}`,
    ...(isOfBus
      ? { eventBus: bus, eventPattern: { source: ["hosted-mail"] } }
      : { schedule: Schedule.rate(Duration.minutes(1)) }),
    targets: [new LambdaFunction(added, { deadLetterQueue: deadLetters, maxEventAge, retryAttempts })],
  });
  const failed = new Metric({
    namespace: "AWS/Events",
    metricName: "FailedInvocations",
    dimensionsMap: { ...(isOfBus ? { EventBusName: bus.eventBusName } : {}), RuleName: ruleName },
    statistic: "Sum",
    period,
  });
  addAlarm(scope, `${name}.not_called`, `EventBridge could not call ${name}`, failed, 1, topic);
}
