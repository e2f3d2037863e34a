import { Duration, Validations } from "aws-cdk-lib";
import type { Topic } from "aws-cdk-lib/aws-sns";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

import { addAlarm, period } from "../monitoring/alarms.ts";

/** The queue of what a worker gave up, kept for 14 days, and the alarm when there is anything in it. */
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
    reason: "It is a dead-letter queue itself, of an event source or a target, which the rule does not look at.",
  });
  const waiting = queue.metricApproximateNumberOfMessagesVisible({ period, statistic: "Maximum" });
  addAlarm(scope, `${worker}.dead_letters_waiting`, alarmDescription, waiting, 1, topic);
  return queue;
}

/** Where Lambda sends what it gave up. Not SqsDlq or SqsDestination: each attaches a policy of its own to the role. */
export const destination = (queue: Queue): { bind: () => { destination: string } } => ({
  bind: () => ({ destination: queue.queueArn }),
});
