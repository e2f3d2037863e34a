import type { Route } from "../shared/http/route.ts";
import { route as accountsGet } from "./accounts/get.ts";
import { route as accountsList } from "./accounts/list.ts";
import { route as auditList } from "./audit/list.ts";
import { route as authAuthorizationsGrant } from "./auth/authorizations/grant.ts";
import { route as authAuthorizationsList } from "./auth/authorizations/list.ts";
import { route as authAuthorizationsRevoke } from "./auth/authorizations/revoke.ts";
import { route as authGroupsCreate } from "./auth/groups/create.ts";
import { route as authGroupsDelete } from "./auth/groups/delete.ts";
import { route as authGroupsGet } from "./auth/groups/get.ts";
import { route as authGroupsList } from "./auth/groups/list.ts";
import { route as authGroupsMembersAdd } from "./auth/groups/members/add.ts";
import { route as authGroupsMembersList } from "./auth/groups/members/list.ts";
import { route as authGroupsMembersRemove } from "./auth/groups/members/remove.ts";
import { route as authGroupsUpdate } from "./auth/groups/update.ts";
import { route as authInvitationsAccept } from "./auth/invitations/accept.ts";
import { route as authInvitationsCreate } from "./auth/invitations/create.ts";
import { route as authInvitationsList } from "./auth/invitations/list.ts";
import { route as authInvitationsPreview } from "./auth/invitations/preview.ts";
import { route as authInvitationsRevoke } from "./auth/invitations/revoke.ts";
import { route as authMembersList } from "./auth/members/list.ts";
import { route as authRoleAssignmentsAssign } from "./auth/role-assignments/assign.ts";
import { route as authRoleAssignmentsList } from "./auth/role-assignments/list.ts";
import { route as authRoleAssignmentsRevoke } from "./auth/role-assignments/revoke.ts";
import { route as authRolesCreate } from "./auth/roles/create.ts";
import { route as authRolesDelete } from "./auth/roles/delete.ts";
import { route as authRolesList } from "./auth/roles/list.ts";
import { route as authRolesUpdate } from "./auth/roles/update.ts";
import { route as authServiceAccountsCreate } from "./auth/service-accounts/create.ts";
import { route as authServiceAccountsList } from "./auth/service-accounts/list.ts";
import { route as authServiceAccountsRevoke } from "./auth/service-accounts/revoke.ts";
import { route as authServiceAccountsRotate } from "./auth/service-accounts/rotate.ts";
import { route as authServiceAccountsUpdate } from "./auth/service-accounts/update.ts";
import { route as billingAlertsGet } from "./billing/alerts/get.ts";
import { route as billingAlertsUpdate } from "./billing/alerts/update.ts";
import { route as billingAutoRechargeGet } from "./billing/auto-recharge/get.ts";
import { route as billingAutoRechargeUpdate } from "./billing/auto-recharge/update.ts";
import { route as billingCheckoutResultGet } from "./billing/checkout-result/get.ts";
import { route as billingCreditNotesGet } from "./billing/credit-notes/get.ts";
import { route as billingCreditNotesList } from "./billing/credit-notes/list.ts";
import { route as billingCurrentPlanGet } from "./billing/current-plan/get.ts";
import { route as billingInvoicesGet } from "./billing/invoices/get.ts";
import { route as billingInvoicesList } from "./billing/invoices/list.ts";
import { route as billingPaymentMethodSessionCreate } from "./billing/payment-method-session/create.ts";
import { route as billingPaymentMethodDelete } from "./billing/payment-method/delete.ts";
import { route as billingPaymentMethodGet } from "./billing/payment-method/get.ts";
import { route as billingPlanCancel } from "./billing/plan/cancel.ts";
import { route as billingPlanChange } from "./billing/plan/change.ts";
import { route as billingPlansList } from "./billing/plans/list.ts";
import { route as billingProfileGet } from "./billing/profile/get.ts";
import { route as billingProfileUpdate } from "./billing/profile/update.ts";
import { route as billingTopupSessionCreate } from "./billing/topup-session/create.ts";
import { route as billingTransactionsList } from "./billing/transactions/list.ts";
import { route as billingUsageGet } from "./billing/usage/get.ts";
import { route as billingWalletBalanceGet } from "./billing/wallet-balance/get.ts";
import { route as credentialsAdd } from "./credentials/add.ts";
import { route as credentialsDelete } from "./credentials/delete.ts";
import { route as credentialsGet } from "./credentials/get.ts";
import { route as credentialsList } from "./credentials/list.ts";
import { route as credentialsUpdate } from "./credentials/update.ts";
import { route as dedicatedIpsAdd } from "./dedicated-ips/add.ts";
import { route as dedicatedIpsAuthorize } from "./dedicated-ips/authorize.ts";
import { route as dedicatedIpsAvailableOptions } from "./dedicated-ips/available-options.ts";
import { route as dedicatedIpsClaim } from "./dedicated-ips/claim.ts";
import { route as dedicatedIpsDelete } from "./dedicated-ips/delete.ts";
import { route as dedicatedIpsDomainsAssign } from "./dedicated-ips/domains/assign.ts";
import { route as dedicatedIpsDomainsUnassign } from "./dedicated-ips/domains/unassign.ts";
import { route as dedicatedIpsGet } from "./dedicated-ips/get.ts";
import { route as dedicatedIpsList } from "./dedicated-ips/list.ts";
import { route as dedicatedIpsUpdate } from "./dedicated-ips/update.ts";
import { route as dnsRecordsAdd } from "./dns-records/add.ts";
import { route as dnsRecordsDelete } from "./dns-records/delete.ts";
import { route as dnsRecordsExport } from "./dns-records/export.ts";
import { route as dnsRecordsGet } from "./dns-records/get.ts";
import { route as dnsRecordsImport } from "./dns-records/import.ts";
import { route as dnsRecordsList } from "./dns-records/list.ts";
import { route as dnsRecordsUpdate } from "./dns-records/update.ts";
import { route as domainsAdd } from "./domains/add.ts";
import { route as domainsAuthCodeCreate } from "./domains/auth-code/create.ts";
import { route as domainsContactGet } from "./domains/contact/get.ts";
import { route as domainsContactUpdate } from "./domains/contact/update.ts";
import { route as domainsDelete } from "./domains/delete.ts";
import { route as domainsDkimRotate } from "./domains/dkim/rotate.ts";
import { route as domainsDnsSetupGet } from "./domains/dns-setup/get.ts";
import { route as domainsGet } from "./domains/get.ts";
import { route as domainsHealth } from "./domains/health.ts";
import { route as domainsList } from "./domains/list.ts";
import { route as domainsMove } from "./domains/move.ts";
import { route as domainsPurchase } from "./domains/purchase.ts";
import { route as domainsRenew } from "./domains/renew.ts";
import { route as domainsRestore } from "./domains/restore.ts";
import { route as domainsSearch } from "./domains/search.ts";
import { route as domainsTransfer } from "./domains/transfer.ts";
import { route as domainsUpdate } from "./domains/update.ts";
import { route as domainsVerify } from "./domains/verify.ts";
import { route as feedbackList } from "./feedback/list.ts";
import { route as feedbackSubmit } from "./feedback/submit.ts";
import { route as forwardingActivate } from "./forwarding/activate.ts";
import { route as forwardingAdd } from "./forwarding/add.ts";
import { route as forwardingDelete } from "./forwarding/delete.ts";
import { route as forwardingGet } from "./forwarding/get.ts";
import { route as forwardingList } from "./forwarding/list.ts";
import { route as forwardingUpdate } from "./forwarding/update.ts";
import { route as forwardingVerificationConfirm } from "./forwarding/verification/confirm.ts";
import { route as forwardingVerificationSend } from "./forwarding/verification/send.ts";
import { route as forwardingVerify } from "./forwarding/verify.ts";
import { route as limitsGet } from "./limits/get.ts";
import { route as mailboxesActivate } from "./mailboxes/activate.ts";
import { route as mailboxesAdd } from "./mailboxes/add.ts";
import { route as mailboxesAliasesCreate } from "./mailboxes/aliases/create.ts";
import { route as mailboxesAliasesDelete } from "./mailboxes/aliases/delete.ts";
import { route as mailboxesAppPasswordsAdd } from "./mailboxes/app-passwords/add.ts";
import { route as mailboxesAppPasswordsDelete } from "./mailboxes/app-passwords/delete.ts";
import { route as mailboxesAppPasswordsList } from "./mailboxes/app-passwords/list.ts";
import { route as mailboxesBulkDelete } from "./mailboxes/bulk-delete.ts";
import { route as mailboxesBulk } from "./mailboxes/bulk.ts";
import { route as mailboxesDelete } from "./mailboxes/delete.ts";
import { route as mailboxesDeletedList } from "./mailboxes/deleted/list.ts";
import { route as mailboxesExport } from "./mailboxes/export.ts";
import { route as mailboxesExportsGet } from "./mailboxes/exports/get.ts";
import { route as mailboxesGet } from "./mailboxes/get.ts";
import { route as mailboxesList } from "./mailboxes/list.ts";
import { route as mailboxesRestore } from "./mailboxes/restore.ts";
import { route as mailboxesRevealCredentials } from "./mailboxes/reveal-credentials.ts";
import { route as mailboxesRotatePassword } from "./mailboxes/rotate-password.ts";
import { route as mailboxesUpdate } from "./mailboxes/update.ts";
import { route as mailboxesUsageGet } from "./mailboxes/usage/get.ts";
import { route as meGet } from "./me/get.ts";
import { route as mePermissions } from "./me/permissions.ts";
import { route as noticesGet } from "./notices/get.ts";
import { route as noticesUpdate } from "./notices/update.ts";
import { route as statisticsGet } from "./statistics/get.ts";
import { route as suppressionsAdd } from "./suppressions/add.ts";
import { route as suppressionsDelete } from "./suppressions/delete.ts";
import { route as suppressionsList } from "./suppressions/list.ts";
import { route as tagsAdd } from "./tags/add.ts";
import { route as tagsDelete } from "./tags/delete.ts";
import { route as tagsList } from "./tags/list.ts";
import { route as tagsUpdate } from "./tags/update.ts";
import { route as webhooksAdd } from "./webhooks/add.ts";
import { route as webhooksDelete } from "./webhooks/delete.ts";
import { route as webhooksDeliveriesList } from "./webhooks/deliveries/list.ts";
import { route as webhooksDeliveriesRedeliver } from "./webhooks/deliveries/redeliver.ts";
import { route as webhooksGet } from "./webhooks/get.ts";
import { route as webhooksList } from "./webhooks/list.ts";
import { route as webhooksRotateSecret } from "./webhooks/rotate-secret.ts";
import { route as webhooksTest } from "./webhooks/test.ts";
import { route as webhooksUpdate } from "./webhooks/update.ts";
import { route as workspacesAdd } from "./workspaces/add.ts";
import { route as workspacesDelete } from "./workspaces/delete.ts";
import { route as workspacesGet } from "./workspaces/get.ts";
import { route as workspacesList } from "./workspaces/list.ts";
import { route as workspacesUpdate } from "./workspaces/update.ts";

/**
 * The routes of the public API. The endpoints of code mode, the PDFs of invoices and credit notes, the OpenAPI document
 * and the payment webhook are not in this list.
 */
export const routes: readonly Route[] = [
  accountsList,
  accountsGet,
  meGet,
  mePermissions,
  workspacesList,
  workspacesAdd,
  workspacesGet,
  workspacesUpdate,
  workspacesDelete,
  domainsList,
  domainsAdd,
  domainsSearch,
  domainsPurchase,
  domainsRenew,
  domainsTransfer,
  domainsAuthCodeCreate,
  domainsContactGet,
  domainsContactUpdate,
  domainsGet,
  domainsUpdate,
  domainsDelete,
  domainsRestore,
  domainsMove,
  domainsVerify,
  domainsDkimRotate,
  domainsHealth,
  domainsDnsSetupGet,
  dnsRecordsList,
  dnsRecordsAdd,
  dnsRecordsGet,
  dnsRecordsUpdate,
  dnsRecordsDelete,
  dnsRecordsImport,
  dnsRecordsExport,
  mailboxesList,
  mailboxesAdd,
  mailboxesBulk,
  mailboxesBulkDelete,
  mailboxesExport,
  mailboxesExportsGet,
  mailboxesGet,
  mailboxesUpdate,
  mailboxesActivate,
  mailboxesDelete,
  mailboxesDeletedList,
  mailboxesRestore,
  mailboxesRevealCredentials,
  mailboxesRotatePassword,
  mailboxesUsageGet,
  mailboxesAliasesCreate,
  mailboxesAliasesDelete,
  mailboxesAppPasswordsList,
  mailboxesAppPasswordsAdd,
  mailboxesAppPasswordsDelete,
  credentialsList,
  credentialsAdd,
  credentialsGet,
  credentialsUpdate,
  credentialsDelete,
  forwardingList,
  forwardingAdd,
  forwardingGet,
  forwardingUpdate,
  forwardingActivate,
  forwardingDelete,
  forwardingVerificationSend,
  forwardingVerificationConfirm,
  forwardingVerify,
  suppressionsList,
  suppressionsAdd,
  suppressionsDelete,
  statisticsGet,
  dedicatedIpsList,
  dedicatedIpsAvailableOptions,
  dedicatedIpsClaim,
  dedicatedIpsAdd,
  dedicatedIpsAuthorize,
  dedicatedIpsDomainsAssign,
  dedicatedIpsDomainsUnassign,
  dedicatedIpsGet,
  dedicatedIpsUpdate,
  dedicatedIpsDelete,
  tagsList,
  tagsAdd,
  tagsUpdate,
  tagsDelete,
  authAuthorizationsGrant,
  authAuthorizationsList,
  authAuthorizationsRevoke,
  authGroupsList,
  authGroupsCreate,
  authGroupsGet,
  authGroupsUpdate,
  authGroupsDelete,
  authGroupsMembersList,
  authGroupsMembersAdd,
  authGroupsMembersRemove,
  authMembersList,
  authInvitationsList,
  authInvitationsCreate,
  authInvitationsRevoke,
  authInvitationsPreview,
  authInvitationsAccept,
  authRoleAssignmentsList,
  authRoleAssignmentsAssign,
  authRoleAssignmentsRevoke,
  authRolesCreate,
  authRolesDelete,
  authRolesList,
  authRolesUpdate,
  authServiceAccountsList,
  authServiceAccountsCreate,
  authServiceAccountsUpdate,
  authServiceAccountsRotate,
  authServiceAccountsRevoke,
  webhooksList,
  webhooksAdd,
  webhooksGet,
  webhooksUpdate,
  webhooksDelete,
  webhooksRotateSecret,
  webhooksTest,
  webhooksDeliveriesList,
  webhooksDeliveriesRedeliver,
  billingWalletBalanceGet,
  billingTransactionsList,
  billingTopupSessionCreate,
  billingCheckoutResultGet,
  billingCurrentPlanGet,
  billingPlansList,
  billingUsageGet,
  billingPlanChange,
  billingPlanCancel,
  billingInvoicesList,
  billingPaymentMethodSessionCreate,
  billingPaymentMethodGet,
  billingPaymentMethodDelete,
  billingAutoRechargeGet,
  billingAutoRechargeUpdate,
  billingAlertsGet,
  billingAlertsUpdate,
  billingInvoicesGet,
  billingCreditNotesList,
  billingCreditNotesGet,
  billingProfileGet,
  billingProfileUpdate,
  limitsGet,
  noticesGet,
  noticesUpdate,
  feedbackList,
  feedbackSubmit,
  auditList,
];
