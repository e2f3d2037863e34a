import { Duration } from "aws-cdk-lib";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import type { EventBus } from "aws-cdk-lib/aws-events";
import { PolicyDocument, PolicyStatement } from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

import { changeKeyPrefix } from "../../shared/changes/history.ts";
import { addAlarm, period } from "../monitoring/alarms.ts";
import type { WorkerSpec } from "../workers.ts";
import { addDeadLetters, destination } from "./dead-letters.ts";
import { addFunction } from "./functions.ts";
import type { WorkerPlace } from "./worker-functions.ts";

const retries = 6;
const iteratorAgeLimit = Duration.minutes(5);

/** A function that publishes the changes in the table's stream to the bus, and who hears of failures. */
export function addPublisher(scope: Construct, spec: WorkerSpec, bus: EventBus, place: WorkerPlace): lambda.Function {
  const { table, logLevel, topic } = place;
  const deadLetters = addDeadLetters(
    scope,
    spec.name,
    `Changes that ${spec.name} could not publish: see docs/events.md`,
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
