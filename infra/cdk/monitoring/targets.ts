import { Stack } from "aws-cdk-lib";
import { CfnBudget } from "aws-cdk-lib/aws-budgets";
import { CfnAnomalyMonitor, CfnAnomalySubscription } from "aws-cdk-lib/aws-ce";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription, UrlSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { Construct } from "constructs";

import type { Config } from "../../config/config.ts";

/** How urgent an alarm is: `page` wakes a person, `ticket` is work for the next day. */
type Severity = "page" | "ticket";

/** The SNS topic of each severity. A severity without a target has no topic, and its alarms send no notices. */
export type Targets = Partial<Record<Severity, Topic>>;

/**
 * Adds an SNS topic for each severity with a target, and subscribes the target. The owner of the target has to confirm
 * the subscription once.
 */
export function addTargets(scope: Construct, { alarmEmail, pageTarget, ticketTarget }: Config): Targets {
  const page = pageTarget ?? alarmEmail;
  const ticket = ticketTarget ?? alarmEmail;
  return {
    ...(page === undefined ? {} : { page: addTopic(scope, "Page", page) }),
    ...(ticket === undefined ? {} : { ticket: addTopic(scope, "Ticket", ticket) }),
  };
}

function addTopic(scope: Construct, name: string, target: string): Topic {
  const topic = new Topic(scope, `${name}Topic`, { enforceSSL: true });
  topic.addSubscription(target.startsWith("https://") ? new UrlSubscription(target) : new EmailSubscription(target));
  allowPublishing(topic, "cloudwatch.amazonaws.com");
  return topic;
}

const allowPublishing = (topic: Topic, service: string): void =>
  void topic.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal(service)],
      actions: ["sns:Publish"],
      resources: [topic.topicArn],
      conditions: { StringEquals: { "aws:SourceAccount": Stack.of(topic).account } },
    }),
  );

/**
 * Adds the parts of the cost monitoring that the settings name: a monthly budget, and the detection of anomalies. Adds
 * nothing without a topic. Both parts cover the resources with the tag `stage`. They see costs only after somebody has
 * activated this tag as a cost allocation tag.
 */
export function addCostWatch(
  scope: Construct,
  { stage, monthlyBudgetUsd, costAnomalyUsd }: Config,
  topic?: Topic,
): void {
  if (topic === undefined) return;
  const subscriber = { address: topic.topicArn };
  if (monthlyBudgetUsd !== undefined) {
    allowPublishing(topic, "budgets.amazonaws.com");
    const notify = (notificationType: string, threshold: number) => ({
      notification: { notificationType, threshold, comparisonOperator: "GREATER_THAN", thresholdType: "PERCENTAGE" },
      subscribers: [{ ...subscriber, subscriptionType: "SNS" }],
    });
    new CfnBudget(scope, "Budget", {
      budget: {
        budgetName: `hosted-mail-${stage}`,
        budgetType: "COST",
        timeUnit: "MONTHLY",
        budgetLimit: { amount: monthlyBudgetUsd, unit: "USD" },
        costFilters: { TagKeyValue: [`user:stage$${stage}`] },
      },
      notificationsWithSubscribers: [notify("ACTUAL", 80), notify("FORECASTED", 100)],
    });
  }
  if (costAnomalyUsd !== undefined) {
    allowPublishing(topic, "costalerts.amazonaws.com");
    const monitor = new CfnAnomalyMonitor(scope, "CostMonitor", {
      monitorName: `hosted-mail-${stage}`,
      monitorType: "CUSTOM",
      monitorSpecification: JSON.stringify({ Tags: { Key: "stage", Values: [stage], MatchOptions: ["EQUALS"] } }),
    });
    new CfnAnomalySubscription(scope, "CostAnomalies", {
      subscriptionName: `hosted-mail-${stage}`,
      frequency: "IMMEDIATE",
      monitorArnList: [monitor.attrMonitorArn],
      subscribers: [{ ...subscriber, type: "SNS" }],
      thresholdExpression: JSON.stringify({
        Dimensions: {
          Key: "ANOMALY_TOTAL_IMPACT_ABSOLUTE",
          MatchOptions: ["GREATER_THAN_OR_EQUAL"],
          Values: [String(costAnomalyUsd)],
        },
      }),
    });
  }
}
