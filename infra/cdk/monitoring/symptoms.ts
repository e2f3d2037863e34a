/**
 * The failures that customers feel. Each symptom has a composite alarm, which pages, and a runbook in
 * docs/operations.md.
 */
export const symptoms = {
  ApiUnavailable: { title: "API unavailable", means: "Customers get errors from the API", runbook: "api-unavailable" },
  ApiSlow: { title: "API slow", means: "Customers wait for the API", runbook: "api-slow" },
  MailDoorsFailing: {
    title: "Mail endpoints failing",
    means: "Mail servers get errors or wait, so people cannot log in and mail is not accepted",
    runbook: "mail-endpoints-failing",
  },
  WebhooksLate: {
    title: "Webhooks late",
    means: "Customers' systems learn of changes late, or not at all",
    runbook: "webhooks-late",
  },
  MoneyWrong: {
    title: "Money wrong or behind",
    means: "A ledger does not add up, or payments and days are not booked",
    runbook: "money-wrong-or-behind",
  },
  EventsStuck: {
    title: "Events stuck",
    means: "Changes are not published, so webhooks, mails and purges wait",
    runbook: "events-stuck",
  },
} as const;

export type SymptomId = keyof typeof symptoms;

export const symptomIds = Object.keys(symptoms) as SymptomId[];

/**
 * The groups of workers. Each group has an alarm on its dead letters. A group with workers that EventBridge calls also
 * has an alarm on the calls that EventBridge could not make. CloudWatch allows ten metrics in an alarm, so a group has
 * at most ten workers. The alarms of a group without a symptom make tickets.
 */
export const workGroups: Record<string, { workers: readonly string[]; symptom?: SymptomId }> = {
  Events: { workers: ["publish_changes"], symptom: "EventsStuck" },
  Webhooks: { workers: ["dispatch_event", "retry_deliveries", "index_journals"], symptom: "WebhooksLate" },
  Money: {
    workers: ["ask_checkouts", "watch_wallets", "advance_recharges", "run_billing_day", "check_ledgers"],
    symptom: "MoneyWrong",
  },
  Letters: { workers: ["send_verification", "send_notices", "send_invitation"] },
  Upkeep: {
    workers: [
      "advance_domains",
      "advance_dedicated_ips",
      "purge_mailboxes",
      "make_mailbox_export",
      "end_grants",
      "note_revocations",
      "migrate_rows",
    ],
  },
};

/**
 * The group of a worker. `worker` is a full name, such as `workers.dispatch_event`. Throws for a worker without a
 * group.
 */
export function workGroupOf(worker: string): string {
  const found = Object.entries(workGroups).find(([, { workers }]) =>
    workers.some((one) => worker === `workers.${one}`),
  );
  if (found === undefined) throw new Error(`${worker} is in no group of infra/cdk/monitoring/symptoms.ts.`);
  return found[0];
}
