import { Duration, Validations } from "aws-cdk-lib";
import type { Topic } from "aws-cdk-lib/aws-sns";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

import { addAlarm, period } from "../monitoring/alarms.ts";

/** Adds the queue of a worker's failed calls, kept for 14 days, and an alarm when the queue has any message. */
export function addDeadLetters(
  scope: Construct,
  worker: string,
  alarmDescription: string,
  topic: Topic | undefined,
): Queue {
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
export const destination = (queue: Queue): { bind: () => { destination: string } } => ({
  bind: () => ({ destination: queue.queueArn }),
});
