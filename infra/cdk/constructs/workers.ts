import { CfnOutput, Duration, Validations } from "aws-cdk-lib";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { EventBus, Rule, type RuleProps, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import { PolicyDocument, PolicyStatement } from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

import { changeKeyPrefix } from "../../../shared/changes/history.ts";
import type { Source, WorkerSpec } from "../../entry-points.ts";
import { period, type WorkerFailures } from "../monitoring/metrics.ts";
import { type Common, addFunction } from "./functions.ts";
import { allow } from "./permissions.ts";

/** Adds the queue of a worker's failed calls. The queue keeps each message for 14 days. */
function addDeadLetters(scope: Construct, worker: string): Queue {
  const queue = new Queue(scope, `${worker}.dead_letters`, {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  Validations.of(queue).acknowledge({
    id: "AwsSolutions-SQS3",
    reason: "This queue is itself the dead-letter queue of an event source or a target.",
  });
  return queue;
}

/** The number of messages in a worker's queue of failed calls. */
const waitingIn = (queue: Queue, worker: string): Metric =>
  queue.metricApproximateNumberOfMessagesVisible({ period, statistic: "Maximum", label: worker });

/**
 * Makes a queue the destination of a function's failed calls. The CDK's SqsDlq and SqsDestination would attach a policy
 * of their own to the role.
 */
const destination = (queue: Queue): { bind: () => { destination: string } } => ({
  bind: () => ({ destination: queue.queueArn }),
});

/** The number of times that Lambda repeats a failed call of the publisher. */
const streamRetries = 6;

/** Adds the function that publishes the changes in the table's stream to the bus. */
function addPublisher(scope: Construct, spec: WorkerSpec, bus: EventBus, context: WorkerContext): AddedWorker {
  const { table, logLevel } = context;
  const deadLetters = addDeadLetters(scope, spec.name);
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
  return { added, failures: { worker: spec.name, deadLetters: waitingIn(deadLetters, spec.name) } };
}

/**
 * Makes Lambda read the table's stream. Lambda reads only one batch of a shard at a time, which keeps the order of the
 * changes. With several batches at a time, Lambda keeps the order only within one item, and every change is an item of
 * its own.
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

/** The description of a worker's calls, and how often a call is repeated. */
type CallSettings = {
  description: string;
  maxEventAge: Duration;
  /** The number of times that EventBridge repeats a call that Lambda did not accept. */
  handoverRetries: number;
  /** The number of times that Lambda repeats a failed call. */
  runRetries: number;
};

type RuleSource = Exclude<Source, "changes">;

/** The settings of calls with an event. No later call brings the same event, so a failed call is repeated. */
const persistent = { maxEventAge: Duration.hours(6), handoverRetries: 60, runRetries: 2 };

/** Names the events of a source for a description. Lambda allows a description of 256 characters. */
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

/** A worker's function, and the metrics of its failed calls. */
type AddedWorker = { added: lambda.Function; failures: WorkerFailures };

/** Adds a function that a rule of EventBridge calls. */
function addRuleWorker(
  scope: Construct,
  spec: WorkerSpec & { source: RuleSource },
  bus: EventBus,
  context: WorkerContext,
): AddedWorker {
  const { name, access, keys, readKeys, source, uses = [], opensOnly, timeoutSeconds = 60 } = spec;
  const { description, maxEventAge, runRetries } = callSettingsOf(source);
  const deadLetters = addDeadLetters(scope, name);
  const added = addFunction(
    scope,
    {
      name,
      access,
      keys,
      readKeys,
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
  const notCalled = addRule(scope, spec, { ...context, bus, added, deadLetters });
  return { added, failures: { worker: name, deadLetters: waitingIn(deadLetters, name), notCalled } };
}

type RuleParts = Pick<WorkerContext, "stage"> & { bus: EventBus; added: lambda.Function; deadLetters: Queue };

/**
 * Adds the rule of EventBridge that calls a worker. Returns the metric of the calls that EventBridge could not make.
 * The metric counts each of these calls, whether or not the call becomes a dead letter.
 */
function addRule(
  scope: Construct,
  { name, source }: { name: string; source: RuleSource },
  { bus, added, deadLetters, stage }: RuleParts,
): Metric {
  const { maxEventAge, handoverRetries: retryAttempts } = callSettingsOf(source);
  // The metric needs the name of the rule. `Ref` is not this name: for a rule on a custom bus, `Ref` also contains the
  // name of the bus.
  const ruleName = `${stage}-${name}`;
  new Rule(scope, `${name}.rule`, {
    ruleName,
    description: `Calls ${name}`,
    ...triggerOf(source, bus),
    targets: [new LambdaFunction(added, { deadLetterQueue: deadLetters, maxEventAge, retryAttempts })],
  });
  return new Metric({
    namespace: "AWS/Events",
    metricName: "FailedInvocations",
    dimensionsMap: { ...("events" in source ? { EventBusName: bus.eventBusName } : {}), RuleName: ruleName },
    statistic: "Sum",
    period,
    label: name,
  });
}

/** The properties that all workers share. */
type WorkerContext = Common & { stage: string; logLevel: string };

/** The functions of the workers, by name, and the metrics of their failed calls. */
export type AddedWorkers = { functions: Map<string, lambda.Function>; failures: WorkerFailures[] };

/** Adds the event bus of the stage, and one function per worker with its trigger. */
export function addWorkers(scope: Construct, workers: readonly WorkerSpec[], context: WorkerContext): AddedWorkers {
  if (workers.length === 0) return { functions: new Map(), failures: [] };
  const bus = new EventBus(scope, "EventBus", { eventBusName: `hosted-mail-${context.stage}` });
  new CfnOutput(scope, "EventBusName", { value: bus.eventBusName });
  const added = workers.map((spec) => {
    const { source } = spec;
    return source === "changes"
      ? addPublisher(scope, spec, bus, context)
      : addRuleWorker(scope, { ...spec, source }, bus, context);
  });
  const { workerConcurrency } = context.resources.config;
  for (const { added: worker, failures } of added) {
    const concurrency = workerConcurrency[failures.worker];
    const resource = worker.node.defaultChild as lambda.CfnFunction;
    if (concurrency !== undefined) resource.reservedConcurrentExecutions = concurrency;
  }
  return {
    functions: new Map(added.map((one) => [one.failures.worker, one.added])),
    failures: added.map((one) => one.failures),
  };
}
