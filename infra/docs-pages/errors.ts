import type { ProblemCode } from "../../shared/core/errors.ts";

/** Advice on each problem, in Markdown. */
export const errorGuidance: Record<ProblemCode, string> = {
  malformed_json:
    "The JSON has a syntax error or is not in UTF-8, or other text follows the JSON. Send exactly one JSON document. To find the mistake, print the body that your program sends. In a shell, put the JSON in single quotes.",
  malformed_request:
    "The address or a header cannot be read, for example because of a wrong `%` escape. Encode the parts of the path with `encodeURIComponent` or a similar function.",
  unauthenticated:
    "The request has no token, or its token is not valid at this address. Send `Authorization: Bearer …` with a token of this deployment, without quotes and line breaks. [Authentication](/docs/authentication#get-a-token) explains how to get a token.",
  token_expired:
    "The token is no longer valid. Sign in again for a new access token. If a service account's token was rotated, use the new token. If a service account has expired, create another service account.",
  token_revoked:
    "The service account was revoked, or its token was rotated without an overlap. Use the new token, or ask an owner for a service account.",
  forbidden:
    "You can see the account, but you lack the capability in `required_capability`. Ask somebody with `auth.manage` to grant you this capability.",
  account_suspended:
    "The account is suspended or closed, and can only be read. `detail` gives the reason. If an invoice is due, pay it with `billing.topup_session.create`. The account is then active again at once. For any other reason, contact us.",
  origin_not_allowed:
    "A web page called the API from an origin that is not allowed. Call the API from your server, because visitors can read a token in a web page. Or ask us to allow the origin.",
  invitation_not_yours:
    "The invitation is for another e-mail address than yours. Sign in with the invited address, or ask for an invitation to your address.",
  email_not_verified:
    "Your identity provider has not verified your e-mail address. Verify the address at the identity provider, sign in again, and accept the invitation with the new token.",
  invitation_used:
    "If you accepted the invitation, you have the access already: see `me.permissions`. If somebody else needs access, create another invitation.",
  invitation_ended:
    "`reason` is `revoked`, `expired` or `not_held`. `not_held` means that the access in the invitation can no longer be given: the inviter does not hold it any more, it has ended, or its resource or role was deleted. Ask for a new invitation.",
  would_escalate:
    "You can give only permissions that you hold on the same resource or a wider resource. The permissions that you give cannot last longer than yours. `missing` names the permissions that you lack. Leave these permissions out, or ask somebody who holds them.",
  not_found:
    "The resource does not exist, or you may not see it. Check that the id is right and belongs to the account in the path. `me.permissions` shows what you may see.",
  method_not_allowed:
    "The path exists, but does not support this method. Use one of the methods in the header `Allow`. The reference shows the method of each operation.",
  account_closed: "A closed account cannot be opened again. Use another account, or ask us for a new account.",
  workspace_name_taken:
    "Names of workspaces are unique in an account, ignoring case. Choose another name, or use the workspace in `conflicts_with`.",
  workspace_not_empty:
    "Move the workspace's domains (`domains.move`) or delete them first. A domain with the status `releasing` counts too: wait until its `deletes_at`, or delete it for good with `purge=true`.",
  tag_name_taken:
    "Names of tags are unique in an account, ignoring case. Use the tag in `conflicts_with`, or choose another name.",
  domain_taken:
    "A domain can be in one account only. If the domain is yours, publish a TXT record at `txt_name` with the text `txt_value`, or delegate the domain to the `nameservers` in the answer. Then add the domain again.",
  domain_exists:
    "Read the domain with `domains.get`. To put it into another workspace, use `domains.move`. To transfer the name of a `releasing` domain, first call `domains.restore` or `domains.add`.",
  domain_not_empty: "Delete the mailboxes first. `mailboxes.bulk_delete` deletes up to 100 mailboxes at once.",
  release_required:
    "Deleting the domain gives up its registration after 5 days. If you agree, send the request again with `release=true`. If the name goes to another registrar, wait for the event `domain.transferred_out`, and then delete the domain.",
  domain_not_ready:
    "The status of the domain in `domain_status` does not allow this. Read `status_reason` with `domains.get`. For `pending_delegation`, set the domain's nameservers or its TXT record, and then call `domains.verify`. For `releasing`, call `domains.restore`.",
  mailbox_not_ready:
    "The status of the mailbox is in `mailbox_status`. `mailboxes.activate` changes only an active or paused mailbox. For other statuses, wait some seconds and try again. `mailboxes.restore` restores only a deleted mailbox. If the mailbox is not deleted, you need not restore it.",
  mailbox_ambiguous:
    "Send one of the ids in `mailbox_ids`. `mailboxes.deleted.list` shows when each mailbox was deleted.",
  address_taken:
    "The address may be an alias of the mailbox. Choose another address, or use the mailbox in `conflicts_with`. If `conflicts_with` is missing, you may not see that mailbox.",
  out_of_stock:
    "No address of this option is free. Claim another option of `dedicated_ips.available_options`, or try again later. Nothing was paid.",
  ip_in_use:
    "`domain_count` domains send from the dedicated IP. Unassign these domains with `dedicated_ips.domains.unassign`, and wait until no assignment is running. Then delete the dedicated IP.",
  ip_taken:
    "Another dedicated IP has the address `ip`. If `conflicts_with` is present, it names this dedicated IP. If `conflicts_with` is missing, the address is ours, or another account has proved that it holds the address. Leave the address out, or prove with the address's setup record that you hold the address now ([Dedicated IPs](/docs/dedicated-ips#takeover-of-an-address)).",
  ip_not_ready:
    "The status of the dedicated IP in `ip_status` does not allow this. Prove a host with `dedicated_ips.authorize`, and wait until the dedicated IP is `active`. `status_reason` names the missing steps. Only we can resume a `suspended` dedicated IP.",
  domain_has_ip:
    "The domain in `domain` sends from the dedicated IP in `dedicated_ip_id`. Unassign the domain with `dedicated_ips.domains.unassign`, then send the request again. No domain in the request was changed.",
  payments_unavailable: "Ask the operator to configure payments. Nothing was changed.",
  mail_unavailable:
    "Ask the operator to configure a sender of mail. Nothing was changed. Forwarding to mailboxes of the account works without a sender.",
  registrar_unavailable:
    "Ask the operator to configure a registrar, or connect a name that you have registered elsewhere.",
  dns_unavailable: "Connect the domain with `dns_mode` `external`, or ask the operator to configure a DNS provider.",
  mail_servers_unavailable:
    "The operator has to configure the secret of the mail servers. Only mail servers get this problem.",
  other_currency:
    "The price is in `currency`, but the account pays in `account_currency`. Nothing was bought. Buy the name at another registrar, and add it with `domains.add`.",
  quote_changed:
    "The price has risen above your `max_total`. `estimated_total` is the present price. If you agree, send the request again with a higher `max_total`. Nothing was paid.",
  not_registered_here:
    "The domain was connected, so its registration is at another registrar. Manage the registration there, or move it here with `domains.transfer`.",
  transfer_locked:
    "Unlock the name with `domains.update` and `locked: false`. Unlocking takes a few minutes. If the registry forbids the transfer, wait until `registration.registrar_status` has no status that forbids it.",
  transfer_too_soon:
    "Registries lock a name for 60 days after its registration or its last transfer. Try again at `transferable_at`.",
  redirects_unavailable:
    "Redirects and MTA-STS need a web server for domains, and this deployment has none. Leave out `redirect_url` and `mta_sts_mode`, or ask us for the web server. Other settings work.",
  rotation_running:
    "A rotation takes at least a week. After that, receivers no longer need the old key. `dkim_keys` in `domains.get` shows the state of the rotation. Wait until the domain has only one key again.",
  renewal_running:
    "Wait until the status of `renewal` in `domains.get` is no longer `running`. Then check whether you still need another year.",
  too_many_years:
    "A name is registered for at most ten years. `max_years` is the number of years that you can add at present.",
  forwarding_exists: "The rule in `conflicts_with` already sends copies to this target. Change or resume that rule.",
  forwarding_loop:
    "The rules in `conflicts_with` would send the copies back. If `conflicts_with` is missing, you may not see these rules. Choose a target whose mail they do not copy.",
  verification_failed:
    "The code is not right. `reason` is `wrong`, `no_tries_left`, `expired` or `not_sent`. `tries_left` is the number of tries that are left. Ask the recipient for the code in the last mail. If no tries are left, or after 15 minutes, send a new code with `forwarding.verification.send`.",
  verification_not_needed:
    "You need not do anything: the recipient has already agreed, or the target is a mailbox of the account. The rule forwards mail while it is active.",
  record_exists:
    "The domain already has exactly this record. Its id is in `conflicts_with`. To change the record's TTL, call `dns_records.update`.",
  record_conflict:
    "Change or delete the record in `conflicts_with` first. If `conflicts_with` is missing, you may not see the records that are in the way.",
  dns_external:
    "Change the record at the domain's DNS provider. Or set `dns_mode` to `hosted` with `domains.update`, and add the record here. We serve the record as soon as the domain is delegated to us.",
  zone_conflict:
    "Our nameservers hold the zone of the name in `conflicts_with`. One of the two names is below the other, so our nameservers cannot hold both zones. Use `dns_mode` `external` for the longer name, and publish its records in the DNS of the shorter name.",
  below_delegation:
    "The NS records at `delegation` delegate this name and all names below it to other nameservers. Below `delegation`, the zone can have only the A and AAAA records of these nameservers. `conflicts_with` contains the ids of the NS records, or of the records that a new NS record would hide. Add the record at these nameservers, or delete the records in `conflicts_with` first.",
  system_managed: "The domain's settings create this record. Change the settings with `domains.update`.",
  last_owner:
    "The account would have no owner left. First make somebody else an owner without an end date, for example by an invitation with `account_owner`.",
  service_account_expired:
    "The time in the service account's `expires_at` has passed. This service account cannot be used again. Create another service account, and assign the same roles to it.",
  group_name_taken: "Names of groups are unique in an account, ignoring case. Choose another name.",
  role_built_in:
    "This role is the same in all accounts and cannot be changed. Create a role of your own with `auth.roles.create` and the capabilities that you need.",
  role_in_use:
    "Find the role's assignments with `auth.role_assignments.list` and the role's `role_key`. Revoke the assignments, and then delete the role.",
  role_key_taken: "Choose another key. `auth.roles.list` shows the keys that are taken.",
  group_not_empty: "Delete or move the groups in `subgroup_ids` first.",
  group_cycle: "You cannot move a group into itself or into one of its subgroups. Choose another parent.",
  limit_reached:
    "The account or a part of it already has the largest number of these resources. Delete some that you do not need, or ask us for a higher limit. `limits.get` shows all [limits](/docs/limits#what-an-account-can-have) and their use.",
  insufficient_funds:
    "The call needs the amount `required`, but the wallet has only `available`. Top up the wallet by at least `missing` with `billing.topup_session.create`, and send the request again. Nothing was paid.",
  plan_unchanged: "You need not do anything. `billing.current_plan.get` shows the plan.",
  plan_cancelled:
    "The account has no plan, or its plan is cancelled. The plan cannot be cancelled again, and the account cannot claim dedicated IPs. To have a plan, call `billing.plan.change`.",
  plan_required:
    "Without a plan nothing can be added or sent. To resume, call `billing.plan.change` with a plan in `plans`. Adding and sending work again as soon as the plan begins.",
  plan_in_use:
    "Delete the account's `dedicated_ip_count` managed dedicated IPs first, or change to another plan. Managed dedicated IPs exist only together with a plan that pays for them.",
  payment_due:
    "Top up the wallet with `billing.topup_session.create`. The invoice is paid from the wallet at once. Then try again.",
  payment_method_required:
    "Save a card with `billing.payment_method_session.create`. Then switch on automatic recharges.",
  idempotency_in_flight:
    "Wait for the seconds in `Retry-After`, and send the same request again. You then get the answer of the first request.",
  secret_already_shown:
    "The secret was in an earlier answer, and is not shown again. If you have lost the secret, make a new one with `mailboxes.rotate_password`, `auth.service_accounts.rotate` or `webhooks.rotate_secret`, or create the resource again.",
  precondition_failed:
    "Somebody has changed the resource since you read it. Read the resource again, and decide whether to send your change. If the route does not support `If-Match`, leave the header out.",
  body_too_large:
    "The body is larger than `limit_bytes`. Send less in one request, for example 100 mailboxes at a time.",
  unsupported_media_type:
    "The body is not declared as JSON. Send `Content-Type: application/json`, in UTF-8 and without `Content-Encoding`.",
  rate_limited:
    "You have sent more requests of this class than the [limit](/docs/limits#requests) allows. Wait for the seconds in `Retry-After`, and send the request again. Nothing was changed. The header `RateLimit` shows the number of requests that are left.",
  internal:
    "The error is on our side. You can send a POST with the same `Idempotency-Key` again. If the error happens again, tell us the `request_id`.",
  upstream_unavailable:
    "A service that we need, such as a registry or a nameserver, does not answer. As far as we know, nothing was changed. Try again after the seconds in `Retry-After`. Send a POST with the same `Idempotency-Key`.",
  read_only:
    "If the status is 503, the operator has stopped all changes. `detail` gives the reason. Requests that only read still work. Nothing was changed. Try again after the seconds in `Retry-After`. If a program that you sent by the tool `service_query` has this error, the program calls a function that writes. Send the program by `service_execute`.",
  busy: "Other requests are changing the same resource, or there are too many requests at once. Nothing was changed. Try again after the seconds in `Retry-After`. Send changes of one resource one after the other.",
};
