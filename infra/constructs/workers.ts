import { CfnOutput, Duration, Validations } from "aws-cdk-lib";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { EventBus, Rule, type RuleProps, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import { PolicyDocument, PolicyStatement } from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import type { Topic } from "aws-cdk-lib/aws-sns";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

import { changeKeyPrefix } from "../../shared/changes/history.ts";
import type { Source, WorkerSpec } from "../entry-points.ts";
import { addAlarm, period } from "../monitoring/alarms.ts";
import { type Common, addFunction } from "./functions.ts";
import { allow } from "./permissions.ts";

/** Adds the queue of a worker's failed calls, kept for 14 days, and an alarm when the queue has any message. */
function addDeadLetters(scope: Construct, worker: string, alarmDescription: string, topic: Topic | undefined): Queue {
  const queue = new Queue(scope, `${worker}.dead_letters`, {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  Validations.of(queue).acknowledge({
    id: "AwsSolutions-SQS3",
    reason: "This queue is the dead-letter queue of an event source or a target. The rule does not check those.",
  });
  const waiting = queue.metricApproximateNumberOfMessagesVisible({ period, statistic: "Maximum" });
  addAlarm(scope, `${worker}.dead_letters_waiting`, alarmDescription, waiting, 1, topic);
  return queue;
}

/**
 * Makes a queue the destination of a function's failed calls. Not SqsDlq or SqsDestination, because each attaches its
 * own policy to the role.
 */
const destination = (queue: Queue): { bind: () => { destination: string } } => ({
  bind: () => ({ destination: queue.queueArn }),
});

const retries = 6;
const iteratorAgeLimit = Duration.minutes(5);

/** Adds the function that publishes the changes in the table's stream to the bus, with the alarms for its failures. */
function addPublisher(scope: Construct, spec: WorkerSpec, bus: EventBus, place: WorkerPlace): lambda.Function {
  const { table, logLevel, topic } = place;
  const deadLetters = addDeadLetters(
    scope,
    spec.name,
    `${spec.name} could not publish some changes. See docs/events.md`,
    topic,
  );
  const added = addFunction(
    scope,
    {
      name: spec.name,
      access: spec.access,
      side: "worker",
      description: "Publishes the changes in the table's stream",
      timeoutSeconds: 60,
      policies: { stream: allowStream(table, bus, deadLetters) },
    },
    { ...place, environment: { EVENT_BUS: bus.eventBusName, LOG_LEVEL: logLevel } },
  );
  mapStream(scope, spec.name, { table, added, deadLetters });
  const age = added.metric("IteratorAge", { period, statistic: "Maximum" });
  addAlarm(
    scope,
    `${spec.name}.iterator_age`,
    `${spec.name} lags behind`,
    age,
    iteratorAgeLimit.toMilliseconds(),
    topic,
  );
  return added;
}

/**
 * Reads one batch of a shard at a time. With several, Lambda would keep the order only within one item, and every change
 * is an item of its own.
 */
function mapStream(
  scope: Construct,
  name: string,
  { table, added, deadLetters }: { table: Table; added: lambda.Function; deadLetters: Queue },
): void {
  new lambda.EventSourceMapping(scope, `${name}.source`, {
    target: added,
    eventSourceArn: streamArnOf(table),
    startingPosition: lambda.StartingPosition.TRIM_HORIZON,
    filters: [
      lambda.FilterCriteria.filter({
        eventName: lambda.FilterRule.isEqual("INSERT"),
        dynamodb: { Keys: { SK: { S: lambda.FilterRule.beginsWith(changeKeyPrefix) } } },
      }),
    ],
    batchSize: 100,
    maxBatchingWindow: Duration.seconds(0),
    parallelizationFactor: 1,
    bisectBatchOnError: true,
    retryAttempts: retries,
    maxRecordAge: Duration.hours(6),
    reportBatchItemFailures: true,
    onFailure: destination(deadLetters),
  });
}

const allowStream = (table: Table, bus: EventBus, deadLetters: Queue): PolicyDocument =>
  new PolicyDocument({
    statements: [
      new PolicyStatement({
        actions: [
          "dynamodb:DescribeStream",
          "dynamodb:GetRecords",
          "dynamodb:GetShardIterator",
          "dynamodb:ListStreams",
        ],
        resources: [streamArnOf(table)],
      }),
      new PolicyStatement({ actions: ["events:PutEvents"], resources: [bus.eventBusArn] }),
      new PolicyStatement({ actions: ["sqs:SendMessage"], resources: [deadLetters.queueArn] }),
    ],
  });

function streamArnOf({ tableStreamArn }: Table): string {
  if (tableStreamArn === undefined) throw new Error("The table has no stream.");
  return tableStreamArn;
}

/**
 * How a worker is called, and the numbers of retries: EventBridge repeats a call that Lambda did not accept, and Lambda
 * repeats a call that failed.
 */
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
    // The next hour brings another call.
    return { description: "Called every hour", maxEventAge: Duration.minutes(30), handoverRetries: 10, runRetries: 1 };
  }
  // The next minute brings another call.
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

/** Adds a function that a rule of EventBridge calls, with the alarms for its failures. */
function addRuleWorker(
  scope: Construct,
  spec: WorkerSpec & { source: RuleSource },
  bus: EventBus,
  place: WorkerPlace,
): lambda.Function {
  const { name, access, keys, source, uses = [], timeoutSeconds = 60 } = spec;
  const { description, maxEventAge, runRetries } = callsOf(source);
  const deadLetters = addDeadLetters(scope, name, `Some calls of ${name} failed. See docs/events.md`, place.topic);
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

/** Adds the rule, and an alarm for when it could not call its function, with or without a dead letter. */
function addRule(
  scope: Construct,
  { name, source }: { name: string; source: RuleSource },
  { bus, added, deadLetters, topic, stage }: Ends,
): void {
  const { maxEventAge, handoverRetries: retryAttempts } = callsOf(source);
  // For a rule on a bus other than the default one, `Ref` is more than the rule name that metrics use.
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

/** The properties that all workers share, and the topic for their alarms. */
type WorkerPlace = Common & { stage: string; logLevel: string; topic: Topic | undefined };

/** Adds the event bus of the stage, and one function per worker with its trigger. */
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
