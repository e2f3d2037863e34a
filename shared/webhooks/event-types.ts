import { groupKind } from "../access/groups/group.ts";
import { memberKind } from "../access/groups/members.ts";
import { invitationKind } from "../access/invitations/invitation.ts";
import { roleKind } from "../access/roles.ts";
import { serviceAccountKind } from "../access/service-account.ts";
import { accountKind } from "../accounts/account.ts";
import { creditNoteKind } from "../billing/invoices/credit-note.ts";
import { invoiceKind } from "../billing/invoices/invoice.ts";
import { alertsKind } from "../billing/recharges/alerts.ts";
import { autoRechargeKind } from "../billing/recharges/auto-recharge.ts";
import { paymentMethodKind } from "../billing/recharges/payment-method.ts";
import { disputeKind, refundKind } from "../billing/recharges/returns.ts";
import { rechargeKind } from "../billing/recharges/stored-recharge.ts";
import type { Kind } from "../changes/kind.ts";
import { ipKind } from "../dedicated-ips/dedicated-ip.ts";
import { domainKind } from "../domains/domain.ts";
import { purchaseKind } from "../domains/purchase/batch.ts";
import { recordKind } from "../domains/records/stored-record.ts";
import { feedbackKind } from "../feedback/feedback.ts";
import { grantKind, roleAssignmentKind } from "../grants/assignment.ts";
import { appPasswordKind } from "../mail/app-passwords/app-password.ts";
import { credentialKind } from "../mail/credentials/credential.ts";
import { ruleKind } from "../mail/forwarding/rule.ts";
import { exportKind } from "../mail/mailboxes/export.ts";
import { mailboxKind } from "../mail/mailboxes/mailbox.ts";
import { suppressionKind } from "../mail/suppressions/suppression.ts";
import { noticeSettingsKind } from "../notices/settings.ts";
import { limitsKind } from "../rate-limits/own-limits.ts";
import { tagKind } from "../tags/tag.ts";
import { profileKind } from "../wallet/profile.ts";
import { planKind } from "../wallet/state.ts";
import { topupKind } from "../wallet/topup.ts";
import { transactionKind } from "../wallet/transaction.ts";
import { walletKind } from "../wallet/wallet.ts";
import { workspaceKind } from "../workspaces/workspace.ts";
import { webhookKind } from "./webhook.ts";

/** Every kind of resource whose changes are recorded and published. */
const kinds: readonly Kind[] = [
  accountKind,
  limitsKind,
  noticeSettingsKind,
  workspaceKind,
  domainKind,
  purchaseKind,
  recordKind,
  mailboxKind,
  appPasswordKind,
  exportKind,
  credentialKind,
  ipKind,
  ruleKind,
  suppressionKind,
  tagKind,
  grantKind,
  roleAssignmentKind,
  roleKind,
  groupKind,
  memberKind,
  serviceAccountKind,
  invitationKind,
  webhookKind,
  walletKind,
  transactionKind,
  planKind,
  invoiceKind,
  creditNoteKind,
  profileKind,
  topupKind,
  paymentMethodKind,
  autoRechargeKind,
  alertsKind,
  rechargeKind,
  refundKind,
  disputeKind,
  feedbackKind,
];

/** An event type, the schema of its data, and the capability on the whole account that a reader of its events needs. */
export type EventType = { type: string } & Pick<Kind, "seenWith" | "view">;

/** Every event type, in the order of the kinds. */
export const eventTypes = (): EventType[] =>
  kinds.flatMap(({ name, verbs, seenWith, view }) =>
    verbs.map((verb) => ({ type: `${name}.${verb}`, seenWith, view })),
  );
