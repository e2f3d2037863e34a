/**
 * The ways in which the restore of an account treats a row of its partition.
 * - `restored`: the row gets its state at the restored time. A row that did not exist at that time is removed. These
 *   rows are the customer's resources.
 * - `kept`: an existing row does not change, and a missing row is added. These rows are records that are never removed:
 *   the ledger, invoices and the audit log. A restore must not undo movements of money, because the payment provider
 *   and the registrar do not undo them.
 * - `left`: the restore neither changes nor adds nor removes the row. Some of these rows describe the world outside the
 *   table: usage, the saved card, the addresses of dedicated IPs, the addresses that refuse mail (suppressions). Some
 *   others were useful only at their time, such as deliveries.
 */
export type Rule = "restored" | "kept" | "left";

/**
 * The sort keys of each rule. A text that ends with `#` or `/` is the beginning of sort keys. Any other text is a whole
 * sort key.
 */
const sortKeys: Readonly<Record<Rule, string>> = {
  restored: `
    LIST#workspaces# WORKSPACE_NAME# LIST#workspace/
    ACCESS# GROUPS OWNERS ASSIGNMENT# REVOKED# ROLES SCOPED# LIST#groups# GROUP_NAME# LIST#members/ MEMBER#
    SERVICE_ACCOUNT# LIST#invitations# INVITED#
    LIST#domains# DOMAIN_NAME# LOOKALIKE# LIST#dns_records# RECORD# DKIM# LIST#domain/
    LIST#mailboxes# PAST_MAILBOXES# ADDRESS# LIST#deleted_mailboxes# DELETED_MAILBOX# DELETED_ADDRESS#
    APP_PASSWORDS# LIST#credentials# MASTER# LIST#forwarding# FORWARD# FORWARD_PROOF#
    LIST#tags# TAG_NAME# LIST#webhooks# NOTICE_SETTINGS`,
  kept: `
    LEDGER#BALANCE# LEDGER#MOVEMENT# LEDGER#ENTRY# LIST#transactions# LIST#invoices# LIST#credit_notes# CREDIT_NOTE# TOPUP#
    JOURNAL#changes# LOGIN_KEY`,
  left: `
    ACCOUNT RESTORE BILLING BILLING_PROFILE ACCRUAL# SENT# SENT_BY# STATISTICS# USAGE LIMITS PURCHASE#
    PAYMENT_METHOD CARD_SETUP# AUTO_RECHARGE RECHARGE# ALERTS REFUNDED# DISPUTE#
    LIST#dedicated_ips# PAST_IP# IP_DOMAIN# IP_OPERATION# ZONE# LIST#feedback# LIST#feedback/ LIST#feedback_by/
    LIST#suppressions# SUPPRESSION# JOURNAL#deliveries/ DELIVERY_BODY# WEBHOOK_SUCCESS#
    NOTICES# NOTICE# LETTERS# MAILBOX_EXPORT# BULK_DELETE#`,
};

const sortKeyRules = Object.entries(sortKeys).flatMap(([rule, text]) =>
  text
    .trim()
    .split(/\s+/)
    .map((start) => ({ rule: rule as Rule, start })),
);

const isOfKind = (sortKey: string, start: string): boolean =>
  /[#/]$/.test(start) ? sortKey.startsWith(start) : sortKey === start;

/** The rule for a row of an account's partition. Throws for a sort key without a rule. */
export function ruleOf(sortKey: string): Rule {
  const found = sortKeyRules.find(({ start }) => isOfKind(sortKey, start));
  if (!found) throw new Error(`infra/restore/account-rules.ts has no rule for ${sortKey}.`);
  return found.rule;
}
