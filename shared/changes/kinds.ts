import { accountKind } from "../accounts/account.ts";
import { grantKind, roleAssignmentKind } from "../auth/assignment-change.ts";
import { groupKind } from "../auth/group-view.ts";
import { memberKind } from "../auth/member-places.ts";
import { serviceAccountKind } from "../auth/service-account-view.ts";
import { invoiceKind } from "../billing/invoice.ts";
import { planKind } from "../billing/state.ts";
import { topupKind } from "../billing/topup.ts";
import { transactionKind } from "../billing/transaction.ts";
import { walletKind } from "../billing/wallet.ts";
import { credentialKind } from "../credentials/credential.ts";
import { ipKind } from "../dedicated-ips/dedicated-ip.ts";
import { recordKind } from "../dns-records/stored-record.ts";
import { domainKind } from "../domains/domain.ts";
import { purchaseKind } from "../domains/purchase-kind.ts";
import { feedbackKind } from "../feedback/feedback.ts";
import { ruleKind } from "../forwarding/rule.ts";
import { limitsKind } from "../limits/own-limits.ts";
import { exportKind } from "../mailboxes/export-kind.ts";
import { mailboxKind } from "../mailboxes/mailbox.ts";
import { tagKind } from "../tags.ts";
import { webhookKind } from "../webhooks/webhook.ts";
import { workspaceKind } from "../workspaces.ts";
import type { Kind } from "./kind.ts";

/** Every kind of resource whose changes are recorded and published. */
const kinds: readonly Kind[] = [
  accountKind,
  limitsKind,
  workspaceKind,
  domainKind,
  purchaseKind,
  recordKind,
  mailboxKind,
  exportKind,
  credentialKind,
  ipKind,
  ruleKind,
  tagKind,
  grantKind,
  roleAssignmentKind,
  groupKind,
  memberKind,
  serviceAccountKind,
  webhookKind,
  walletKind,
  transactionKind,
  planKind,
  invoiceKind,
  topupKind,
  feedbackKind,
];

/** An event type, and the capability on the whole account without which nobody is told of such events. */
export type EventType = { type: string } & Pick<Kind, "seenWith">;

/** Every event type there is, by kind. */
export const eventTypes = (): EventType[] =>
  kinds.flatMap(({ name, verbs, seenWith }) => verbs.map((verb) => ({ type: `${name}.${verb}`, seenWith })));
