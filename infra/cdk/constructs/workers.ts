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

import { changeKeyPrefix } from "../../../shared/changes/history.ts";
import type { Source, WorkerSpec } from "../../entry-points.ts";
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
 * Makes a queue the destination of a function's failed calls. The CDK's SqsDlq and SqsDestination would attach a policy
 * of their own to the role.
 */
const destination = (queue: Queue): { bind: () => { destination: string } } => ({
  bind: () => ({ destination: queue.queueArn }),
});

const streamRetries = 6;
const iteratorAgeLimit = Duration.minutes(5);

/** Adds the function that publishes the changes in the table's stream to the bus, with the alarms for its failures. */
function addPublisher(scope: Construct, spec: WorkerSpec, bus: EventBus, context: WorkerContext): lambda.Function {
  const { table, logLevel, topic } = context;
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
    { ...context, environment: { EVENT_BUS: bus.eventBusName, LOG_LEVEL: logLevel } },
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
 * Reads one batch of a shard at a time, so that the order is kept. With several batches Lambda keeps the order only
 * within one item, and every change is an item of its own.
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
    retryAttempts: streamRetries,
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

/** How a worker is called, and how often a call is repeated. */
type CallSettings = {
  description: string;
  maxEventAge: Duration;
  /** How often EventBridge repeats a call that Lambda did not accept. */
  handoverRetries: number;
  /** How often Lambda repeats a call that failed. */
  runRetries: number;
};

type RuleSource = Exclude<Source, "changes">;

const persistent = { maxEventAge: Duration.hours(6), handoverRetries: 60, runRetries: 2 };

/** Names the events of a source for a description, which has at most 256 characters. */
function eventNames(events: "all" | readonly string[]): string {
  if (events === "all") return "every event";
  return events.length > 3 ? `events of ${events.length} types` : `every ${events.join(" and ")}`;
}

function callSettingsOf(source: RuleSource): CallSettings {
  if ("events" in source) {
    return { description: `Called with ${eventNames(source.events)} on the bus`, ...persistent };
  }
  if (source.every === "hour") {
    // Few retries are enough, because the next hour brings another call.
    return { description: "Called every hour", maxEventAge: Duration.minutes(30), handoverRetries: 10, runRetries: 1 };
  }
  // No retries are needed, because the next minute brings another call.
  return { description: "Called every minute", maxEventAge: Duration.minutes(1), handoverRetries: 0, runRetries: 0 };
}

const schedules = {
  minute: Schedule.rate(Duration.minutes(1)),
  hour: Schedule.cron({ minute: "40" }),
};

const triggerOf = (source: RuleSource, eventBus: EventBus): RuleProps =>
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
  context: WorkerContext,
): lambda.Function {
  const { name, access, keys, source, uses = [], opensOnly, timeoutSeconds = 60 } = spec;
  const { description, maxEventAge, runRetries } = callSettingsOf(source);
  const deadLetters = addDeadLetters(scope, name, `Some calls of ${name} failed. See docs/events.md`, context.topic);
  const added = addFunction(
    scope,
    {
      name,
      access,
      keys,
      uses,
      ...(opensOnly ? { opensOnly } : {}),
      side: "worker",
      description,
      timeoutSeconds,
      policies: { dead_letters: allow(["sqs:SendMessage"], deadLetters.queueArn) },
    },
    context,
  );
  new lambda.EventInvokeConfig(scope, `${name}.invocations`, {
    function: added,
    maxEventAge,
    retryAttempts: runRetries,
    onFailure: destination(deadLetters),
  });
  addRule(scope, spec, { ...context, bus, added, deadLetters });
  return added;
}

type RuleParts = Pick<WorkerContext, "topic" | "stage"> & { bus: EventBus; added: lambda.Function; deadLetters: Queue };

/** Adds the rule, and an alarm that goes off if the rule could not call its function, with or without a dead letter. */
function addRule(
  scope: Construct,
  { name, source }: { name: string; source: RuleSource },
  { bus, added, deadLetters, topic, stage }: RuleParts,
): void {
  const { maxEventAge, handoverRetries: retryAttempts } = callSettingsOf(source);
  // The rule is named here because metrics need the name, and `Ref` has more than the name for a rule on a bus of its
  // own.
  const ruleName = `${stage}-${name}`;
  new Rule(scope, `${name}.rule`, {
    ruleName,
    description: `Calls ${name}`,
    ...triggerOf(source, bus),
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

/** The properties that all workers share, and the topic for the alarms of workers. */
type WorkerContext = Common & { stage: string; logLevel: string; topic: Topic | undefined };

/** Adds the event bus of the stage, and one function per worker with its trigger. */
export function addWorkers(
  scope: Construct,
  workers: readonly WorkerSpec[],
  context: WorkerContext,
): Map<string, lambda.Function> {
  if (workers.length === 0) return new Map();
  const bus = new EventBus(scope, "EventBus", { eventBusName: `hosted-mail-${context.stage}` });
  new CfnOutput(scope, "EventBusName", { value: bus.eventBusName });
  return new Map(
    workers.map((spec) => {
      const { source } = spec;
      const added =
        source === "changes"
          ? addPublisher(scope, spec, bus, context)
          : addRuleWorker(scope, { ...spec, source }, bus, context);
      return [spec.name, added];
    }),
  );
}
