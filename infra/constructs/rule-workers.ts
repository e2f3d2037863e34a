import { Duration } from "aws-cdk-lib";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import { Rule, Schedule, type EventBus, type RuleProps } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import * as lambda from "aws-cdk-lib/aws-lambda";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

import { addAlarm, period } from "../monitoring/alarms.ts";
import type { Source, WorkerSpec } from "../workers.ts";
import { allow } from "./allow.ts";
import { addDeadLetters, destination } from "./dead-letters.ts";
import { addFunction } from "./functions.ts";
import type { WorkerPlace } from "./worker-functions.ts";

/** What calls a worker, and how often again: EventBridge when Lambda does not take a call, Lambda when one fails. */
type Calls = {
  description: string;
  maxEventAge: Duration;
  handoverRetries: number;
  runRetries: number;
};

type RuleSource = Exclude<Source, "changes">;

const persistent = { maxEventAge: Duration.hours(6), handoverRetries: 60, runRetries: 2 };

function callsOf(source: RuleSource): Calls {
  if ("events" in source) {
    const which = source.events === "all" ? "every event" : `every ${source.events.join(" and ")}`;
    return { description: `Called with ${which} on the bus`, ...persistent };
  }
  if (source.every === "day") return { description: "Called every day at 00:20 UTC", ...persistent };
  if (source.every === "hour") {
    // The next hour brings another one.
    return { description: "Called every hour", maxEventAge: Duration.minutes(30), handoverRetries: 10, runRetries: 1 };
  }
  // The next minute brings another one.
  return { description: "Called every minute", maxEventAge: Duration.minutes(1), handoverRetries: 0, runRetries: 0 };
}

const schedules = {
  minute: Schedule.rate(Duration.minutes(1)),
  hour: Schedule.cron({ minute: "40" }),
  day: Schedule.cron({ hour: "0", minute: "20" }),
};

const whenOf = (source: RuleSource, eventBus: EventBus): RuleProps =>
  "every" in source
    ? { schedule: schedules[source.every] }
    : {
        eventBus,
        eventPattern: {
          source: ["hosted-mail"],
          ...(source.events === "all" ? {} : { detailType: [...source.events] }),
        },
      };

/** A function that a rule of EventBridge calls, and who hears of failures. */
export function addRuleWorker(
  scope: Construct,
  spec: WorkerSpec & { source: RuleSource },
  bus: EventBus,
  place: WorkerPlace,
): lambda.Function {
  const { name, access, keys, source, uses = [], timeoutSeconds = 60 } = spec;
  const { description, maxEventAge, runRetries } = callsOf(source);
  const deadLetters = addDeadLetters(scope, name, `Calls of ${name} that failed: see docs/events.md`, place.topic);
  const added = addFunction(
    scope,
    {
      name,
      access,
      keys,
      uses,
      side: "worker",
      description,
      timeoutSeconds,
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
  { name, source }: { name: string; source: RuleSource },
  { bus, added, deadLetters, topic, stage }: Ends,
): void {
  const { maxEventAge, handoverRetries: retryAttempts } = callsOf(source);
  // For a rule of another bus than the default one, `Ref` is more than the name that metrics go by.
  const ruleName = `${stage}-${name}`;
  new Rule(scope, `${name}.rule`, {
    ruleName,
    description: `Calls ${name}`,
    ...whenOf(source, bus),
    targets: [new LambdaFunction(added, { deadLetterQueue: deadLetters, maxEventAge, retryAttempts })],
  });
  const failed = new Metric({
    namespace: "AWS/Events",
    metricName: "FailedInvocations",
    dimensionsMap: { ...("events" in source ? { EventBusName: bus.eventBusName } : {}), RuleName: ruleName },
    statistic: "Sum",
    period,
  });
  addAlarm(scope, `${name}.not_called`, `EventBridge could not call ${name}`, failed, 1, topic);
}
