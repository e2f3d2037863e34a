import type { ProblemCode } from "../../shared/core/errors.ts";

/** Advice on each problem, in Markdown. */
export const errorGuidance: Record<ProblemCode, string> = {
  malformed_json:
    "It has a syntax error, is not in UTF-8, or something follows it. Send one JSON document, and print the body that your program sends. In a shell, put the JSON in single quotes.",
  malformed_request:
    "The address or a header cannot be read, for example because of a wrong `%` escape. Encode the parts of the path with `encodeURIComponent` or its like.",
  unauthenticated:
    "The request has no token, or its token is not valid at this address. Send `Authorization: Bearer …` with a token of this deployment, without quotes and line ends. [Authentication](/docs/authentication#get-a-token) tells how to get one.",
  token_expired:
    "The token's end has passed. Sign in again for a new access token. If a service account has expired, create another one.",
  token_revoked:
    "The service account was revoked, or its token was rotated and the overlap is over. Use the new token, or ask an owner for a service account.",
  forbidden:
    "You can see the account, but you lack the capability in `required_capability` there. Ask somebody with `auth.manage` to grant it.",
  account_suspended:
    "The account is suspended, and can only be read. `detail` says why. If an invoice is due, pay it with `billing.topup_session.create`: the account is active again at once. Otherwise contact us.",
  origin_not_allowed:
    "A web page called the API from an origin that is not allowed. Call the API from your server: a token in a web page can be read by its visitors. Or ask us to allow the origin.",
  invitation_not_yours:
    "The invitation is for another address than the one that you are signed in with. Sign in with the invited address, or ask to be invited with yours.",
  email_not_verified:
    "Your identity provider does not confirm that your e-mail address is yours. Confirm the address there, sign in again, and accept the invitation with the new token.",
  invitation_used:
    "If you accepted it, you have the access already: see `me.permissions`. If somebody else needs access, create another invitation.",
  invitation_ended:
    "`reason` says why: the invitation was `revoked` or has `expired`, or its inviter no longer has the access to give (`not_held`). Ask for a new invitation.",
  would_escalate:
    "You can give only permissions that you hold, on the same resource or a wider one, and for as long as you hold them. `missing` names the permissions that you lack. Leave it out, or ask somebody who holds it.",
  not_found:
    "The resource does not exist, or you may not see it. Check the id, and that it belongs to the account in the path. `me.permissions` shows what you may see.",
  method_not_allowed:
    "The path exists, but not with this method. Use one of the methods in the header `Allow`. The reference has the method of each operation.",
  account_closed: "It cannot be opened again. Use another account, or ask us for one.",
  workspace_name_taken:
    "Names of workspaces are unique in an account, ignoring case. Choose another name, or use the workspace in `conflicts_with`.",
  workspace_not_empty:
    "Move the workspace's domains (`domains.move`) or delete them first. A domain that is `releasing` counts too: delete it with `purge=true` to end this at once.",
  tag_name_taken:
    "Names of tags are unique in an account, ignoring case. Use the tag in `conflicts_with`, or choose another name.",
  domain_taken:
    "A domain can be in one account only. If the domain is yours, publish a TXT record at `txt_name` with the text `txt_value`, or delegate the domain to the `nameservers` of the answer, then add it again.",
  domain_exists: "Read it with `domains.get`, and move it with `domains.move`.",
  domain_not_empty: "Delete them first: `mailboxes.bulk_delete` takes 100 at once.",
  release_required:
    "Deleting the domain gives up its registration after 5 days. If you agree, send the request again with `release=true`.",
  domain_not_ready:
    "The domain's status, in `domain_status`, does not allow this. Read `status_reason` with `domains.get`. A `pending_delegation` domain needs its nameservers or its TXT record, then `domains.verify`. A `releasing` one needs `domains.restore`.",
  mailbox_not_ready:
    "The mailbox's status, in `mailbox_status`, does not allow this. Resume a `paused` mailbox with `mailboxes.activate`. Otherwise wait some seconds, and try again.",
  mailbox_ambiguous: "Send one of the ids in `mailbox_ids`. `mailboxes.deleted.list` shows when each was deleted.",
  address_taken:
    "It may be an alias of the mailbox. Choose another address, or use the mailbox in `conflicts_with`. Without `conflicts_with` you may not see that mailbox.",
  out_of_stock:
    "No address of this option is free. Claim another option of `dedicated_ips.available_options`, or try again later. Nothing was paid.",
  ip_in_use:
    "`domain_count` domains send from the dedicated IP. Unassign them with `dedicated_ips.domains.unassign`, and wait until a running assignment is done. Then delete it.",
  ip_taken:
    "Another dedicated IP has the address `ip`: the one in `conflicts_with`, or without `conflicts_with` one of another account that has proved it. Leave the address out, or prove that you hold it now by its setup record ([Dedicated IPs](/docs/dedicated-ips#takeover-of-an-address)).",
  ip_not_ready:
    "The dedicated IP's status, in `ip_status`, does not allow this. Prove a host with `dedicated_ips.authorize`, and wait until it is `active`: `status_reason` says what is missing. Only we can resume a `suspended` one.",
  domain_has_ip:
    "The domain in `domain` sends from the dedicated IP in `dedicated_ip_id`. Unassign it there with `dedicated_ips.domains.unassign`, then send the request again. No domain of the request was changed.",
  payments_unavailable: "Ask the operator to configure payments. Nothing was changed.",
  mail_unavailable:
    "Ask the operator to configure a sender of mail. Nothing was changed. Forwarding to mailboxes of the account works without it.",
  registrar_unavailable:
    "Ask the operator to configure a registrar, or connect a name that you have registered elsewhere.",
  dns_unavailable: "Connect the domain with `dns_mode` `external`, or ask the operator to configure a DNS provider.",
  mail_servers_unavailable:
    "The operator has to configure the secret of the mail servers. Only mail servers get this problem.",
  other_currency:
    "The price is in `currency`, and the account pays in `account_currency`. Nothing was bought. Buy the name at another registrar, and add it with `domains.add`.",
  quote_changed:
    "The price has risen above your `max_total`. `estimated_total` is the present price. If you agree, send the request again with a higher `max_total`. Nothing was paid.",
  not_registered_here:
    "The domain was connected, so its registration is elsewhere. Manage it at the registrar of the name, or move it here with `domains.transfer`.",
  transfer_locked: "Unlock the name with `domains.update` and `locked: false`. The registry takes a few minutes.",
  transfer_too_soon: "Registries lock a name for 60 days after its registration. Try again at `transferable_at`.",
  redirects_unavailable:
    "This deployment has no web server for domains, which redirects and MTA-STS need. Leave out `redirect_url` and `mta_sts_mode`, or ask us for the web server. Other settings work.",
  rotation_running:
    "A rotation takes a week, until receivers do not need the old key any more. `dkim_keys` in `domains.get` shows its state. Wait until the domain has one key again.",
  renewal_running:
    "Wait until `renewal` in `domains.get` has another status than `running`, then look whether you still need another year.",
  too_many_years:
    "A name is registered for at most ten years. `max_years` is the number of years that you can add at present.",
  forwarding_exists: "The rule in `conflicts_with` sends these copies already. Change or resume that rule.",
  forwarding_loop:
    "The rules in `conflicts_with` would send the copies back. Choose a target that these rules do not copy.",
  verification_failed:
    "The code is not right. `reason` is `wrong`, `no_tries_left`, `expired` or `not_sent`, and `tries_left` how many tries are left. Ask the recipient for the code of the last mail. At 0 tries, or after 15 minutes, send a new one with `forwarding.verification.send`.",
  verification_not_needed:
    "There is nothing to do: the recipient agreed already, or the target is a mailbox of the account. Mail is sent on while the rule is active.",
  record_exists:
    "The domain has exactly this record, with the id in `conflicts_with`. Nothing is missing. To change its TTL, call `dns_records.update`.",
  record_conflict: "Change or delete the record in `conflicts_with` first.",
  dns_external:
    "Change the record where the domain's DNS is. Or set `dns_mode` to `hosted` with `domains.update`: then the record can be added, and is served once the domain is delegated to us.",
  below_delegation:
    "The nameservers in the NS records of `delegation` answer for all names below it. The zone can have only the A and AAAA records of these nameservers there. `conflicts_with` has the ids of the NS records, or of the records that a new NS record would hide. Add the record at these nameservers, or delete the records in `conflicts_with` first.",
  system_managed: "The domain's settings create this record. Change the settings with `domains.update`.",
  last_owner:
    "The account would have no owner left. Make somebody else an owner first, without an end, for example by an invitation with `account_owner`.",
  service_account_expired:
    "The service account's `expires_at` has passed, and it cannot be used again. Create another one, and assign the same roles to it.",
  group_name_taken: "Names of groups are unique in an account, ignoring case. Choose another name.",
  role_built_in:
    "This role is the same in all accounts and cannot be changed. Create a role of your own with `auth.roles.create` and the capabilities that you need.",
  role_in_use:
    "Find the assignments with `auth.role_assignments.list` and its `role_key`, revoke them, and delete the role then.",
  role_key_taken: "Choose another key. `auth.roles.list` shows the keys that are taken.",
  group_not_empty: "Delete or move the groups in `subgroup_ids` first.",
  group_cycle: "You cannot move a group into itself or into a group inside of it. Choose another parent.",
  limit_reached:
    "The account, or a part of it, has as many of these as its limit allows. Delete some that you do not need, or ask us for more. `limits.get` shows all [limits](/docs/limits#what-an-account-can-have) and what is used.",
  insufficient_funds:
    "The wallet does not cover the call, which needs `required` and finds `available`. Top up the wallet by at least `missing` with `billing.topup_session.create`, and send the request again. Nothing was paid.",
  plan_unchanged: "There is nothing to do. `billing.current_plan.get` shows the plan.",
  plan_cancelled:
    "The account has no plan, or its plan is cancelled. The plan cannot be cancelled again, and the account cannot claim dedicated IPs. To have a plan, call `billing.plan.change`.",
  plan_required:
    "Without a plan nothing can be added or sent. To resume, call `billing.plan.change` with one of `plans`. Everything comes back at once.",
  plan_in_use:
    "Delete the account's `dedicated_ip_count` managed dedicated IPs first, or change to another plan. The plan pays for the dedicated IPs as long as they exist.",
  payment_due:
    "Top up the wallet with `billing.topup_session.create`. The invoice is paid from the wallet at once. Then try again.",
  payment_method_required: "Save one with `billing.payment_method_session.create`, then switch on automatic recharges.",
  idempotency_in_flight:
    "Wait for `Retry-After` seconds and send the same request again. You then get the answer of the first request.",
  secret_already_shown:
    "The secret was in the first answer, and only its hash is stored. If you have lost it, make a new one: `mailboxes.rotate_password`, `auth.service_accounts.rotate`, `webhooks.rotate_secret`, or create another.",
  precondition_failed:
    "Somebody changed the resource since you read it. Read the resource again, and decide anew. If the route does not support `If-Match`, leave the header out.",
  body_too_large:
    "The body is larger than `limit_bytes`. Send less in one request, for example 100 mailboxes at a time.",
  unsupported_media_type:
    "The body is not declared as JSON. Send `Content-Type: application/json`, in UTF-8 and without `Content-Encoding`.",
  rate_limited:
    "You have sent more requests of this class than the [limit](/docs/limits#requests) allows. Wait for the seconds in `Retry-After`, and send the request again. Nothing was changed. The header `RateLimit` shows how much is left before you reach the limit.",
  internal:
    "The error is on our side. A POST with an `Idempotency-Key` can be sent again. If it happens again, tell us the `request_id`.",
  upstream_unavailable:
    "A service that we need, such as a registry or a nameserver, does not answer. As far as we know, nothing was changed. Try again after `Retry-After` seconds, a POST with the same `Idempotency-Key`.",
  read_only:
    "The operator has stopped all changes. `detail` says why. Requests that only read work. Nothing was changed. Try again after `Retry-After` seconds.",
  busy: "Other requests change the same resource, or there are too many at once. Nothing was changed. Try again after `Retry-After` seconds, and send changes of one resource one after another.",
};
