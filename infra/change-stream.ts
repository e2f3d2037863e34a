import { CfnOutput, Duration, Validations } from "aws-cdk-lib";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { EventBus } from "aws-cdk-lib/aws-events";
import { PolicyDocument, PolicyStatement } from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import type { Topic } from "aws-cdk-lib/aws-sns";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

import { changeKeyPrefix } from "../shared/changes/history.ts";
import { addAlarm, period } from "./alarms.ts";
import { addFunction, type Common } from "./functions.ts";
import type { WorkerSpec } from "./workers.ts";

type Place = Omit<Common, "environment"> & { stage: string; logLevel: string; topic: Topic | undefined };

const retries = 6;
const iteratorAgeLimit = Duration.minutes(5);

/** The functions that publish the changes in the table's stream, the bus they publish to, and who hears of failures. */
export function addChangeStream(
  scope: Construct,
  workers: readonly WorkerSpec[],
  place: Place,
): Map<string, lambda.Function> {
  const specs = workers.filter(({ source }) => source === "changes");
  if (specs.length === 0) return new Map();
  const bus = new EventBus(scope, "EventBus", { eventBusName: `hosted-mail-${place.stage}` });
  new CfnOutput(scope, "EventBusName", { value: bus.eventBusName });
  return new Map(specs.map((spec) => [spec.name, addPublisher(scope, spec, bus, place)]));
}

function addPublisher(scope: Construct, spec: WorkerSpec, bus: EventBus, place: Place): lambda.Function {
  const { table, logLevel, topic } = place;
  const deadLetters = addDeadLetterQueue(scope, `${spec.name}.dead_letters`);
  const added = addFunction(
    scope,
    {
      name: spec.name,
      access: spec.access,
      description: "Publishes the changes in the table's stream",
      timeoutSeconds: 60,
      policies: { stream: allowStream(table, bus, deadLetters) },
    },
    { ...place, environment: { EVENT_BUS: bus.eventBusName, LOG_LEVEL: logLevel } },
  );
  mapStream(scope, spec.name, { table, added, deadLetters });
  const waiting = deadLetters.metricApproximateNumberOfMessagesVisible({ period, statistic: "Maximum" });
  const age = added.metric("IteratorAge", { period, statistic: "Maximum" });
  addAlarm(
    scope,
    `${spec.name}.dead_letters_waiting`,
    `Changes that ${spec.name} could not publish: see docs/events.md`,
    waiting,
    1,
    topic,
  );
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

/** One batch of a shard at a time: with more, Lambda keeps the order of one item, and every change is another item. */
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
    // Not SqsDlq, which would attach a policy of its own: the function's role has what is needed.
    onFailure: { bind: () => ({ destination: deadLetters.queueArn }) },
  });
}

function addDeadLetterQueue(scope: Construct, id: string): Queue {
  const queue = new Queue(scope, id, {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  Validations.of(queue).acknowledge({
    id: "AwsSolutions-SQS3",
    reason: "It is the dead-letter queue of an event source mapping, which the rule does not look at.",
  });
  return queue;
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
