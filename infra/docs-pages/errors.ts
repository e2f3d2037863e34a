import type { ProblemCode } from "../../shared/core/errors.ts";

/** What to do about each problem, in Markdown. */
export const errorGuidance: Record<ProblemCode, string> = {
  malformed_json: "Send one JSON document and nothing after it.",
  malformed_request: "The request could not be read at all. Check how your client builds it.",
  unauthenticated:
    "The request has no token, or its token is not valid here. Send `Authorization: Bearer …` with an access token.",
  token_expired: "Get a new access token from your identity provider, or a new service account token.",
  token_revoked: "The service account was revoked or its token rotated. Use the new token.",
  forbidden:
    "You can see the account, but you lack the capability in `required_capability` there. Ask somebody with `auth.manage` to grant it.",
  account_suspended: "You can read the account, but not change it. Its owner can pay what is due, or contact us.",
  origin_not_allowed:
    "A web page called the API from an origin that is not configured. Call the API from a server, or ask the operator to add the origin.",
  invitation_not_yours:
    "The invitation is for another address than the one that you are signed in with. Sign in with the invited address, or ask to be invited with yours.",
  email_not_verified:
    "Your identity provider tells no verified e-mail address of yours. Verify it there, and sign in again.",
  invitation_used: "The invitation was accepted. To take the access away, revoke the grants and roles of its user.",
  invitation_ended:
    "`reason` says why: the invitation was `revoked` or has `expired`, or its inviter no longer has the access to give (`not_held`). Ask for a new invitation.",
  would_escalate: "You can grant only capabilities that you hold. `missing` names those that you do not hold.",
  not_found: "The resource does not exist, or you may not see it. Check the id and the account.",
  method_not_allowed: "The path exists, but not with this method. The header `Allow` lists its methods.",
  account_closed: "A closed account cannot be opened again.",
  workspace_name_taken:
    "Names of workspaces are unique in an account, ignoring case. Choose another name, or use the workspace in `conflicts_with`.",
  workspace_not_empty:
    "Move or delete the workspace's domains first. A domain that is `releasing` counts too: delete it with `purge=true` to end this at once.",
  tag_name_taken: "Names of tags are unique in an account, ignoring case. Use the tag in `conflicts_with`.",
  domain_taken:
    "A domain can be in one account only. If the domain is yours, publish a TXT record at `txt_name` with the text `txt_value`, or delegate the domain to the `nameservers` of the answer, then add it again.",
  domain_exists: "Read the domain with `domains.get`.",
  domain_not_empty: "Delete the domain's mailboxes first.",
  release_required:
    "Deleting the domain gives up its registration after 5 days. If you agree, send the request again with `release=true`.",
  domain_not_ready:
    "`domain_status` is the domain's status. Wait until the status changes, or do what the status needs, such as the delegation.",
  mailbox_not_ready: "`mailbox_status` is the mailbox's status.",
  mailbox_ambiguous: "Name one of the mailboxes in `mailbox_ids`.",
  address_taken: "Choose another address, or use the mailbox in `conflicts_with`.",
  out_of_stock: "Claim another option of `dedicated_ips.available_options`, or try again later.",
  ip_in_use: "Unassign the dedicated IP's `domain_count` domains first, or wait until a running assignment is done.",
  ip_taken:
    "The dedicated IP in `conflicts_with` has the address `ip`. Without `conflicts_with`, another account has proved the address.",
  ip_not_ready:
    "`ip_status` is the dedicated IP's status. Authorize the dedicated IP, or wait until it is `active`. Only we can resume a `suspended` one.",
  domain_has_ip:
    "The domain in `domain` sends from the dedicated IP in `dedicated_ip_id`. Unassign the domain there first. The other domains of the request were not changed either.",
  other_currency:
    "The price is in `currency`, and the account pays in `account_currency`. Nothing was bought. Buy the name at another registrar, and add it with `domains.add`.",
  quote_changed:
    "`estimated_total` is the present price. If you agree, send the request again with a higher `max_total`.",
  not_registered_here: "Manage the registration at the registrar of the name.",
  transfer_locked: "Unlock the name with `domains.update` and `locked: false`. The registry takes a few minutes.",
  transfer_too_soon: "Registries lock a name for 60 days after its registration. Try again at `transferable_at`.",
  redirects_unavailable: "Ask the operator for `webHost` and `webAddresses`. Other settings work without them.",
  rotation_running: "`dkim_keys` in the domain shows the rotation. Wait until the domain has one key again.",
  renewal_running: "`domains.get` shows the renewal. Wait until it ends.",
  too_many_years:
    "A name is registered for at most ten years. `max_years` is the number of years that you can add at present.",
  forwarding_exists: "The rule in `conflicts_with` sends these copies already. Change or resume that rule.",
  forwarding_loop:
    "The rules in `conflicts_with` would send the copies back. Choose a target that these rules do not copy.",
  verification_failed:
    "`reason` is `wrong`, `no_tries_left`, `expired` or `not_sent`; `tries_left` is the number of tries left for the code in the last mail. At 0, send a new code.",
  verification_not_needed: "The recipient agreed already, or the target is a mailbox of the account.",
  record_exists: "`conflicts_with` is the id of the record.",
  record_conflict: "Change or delete the record in `conflicts_with` first.",
  dns_external:
    "Change the record where the domain's DNS is. Or set `dns_mode` to `hosted` with `domains.update`: then the record can be added, and is served once the domain is delegated to us.",
  below_delegation:
    "The nameservers in the NS records of `delegation` answer for all names below it. The zone can have only the A and AAAA records of these nameservers there. `conflicts_with` has the ids of the NS records, or of the records that a new NS record would hide. Add the record at these nameservers, or delete the records in `conflicts_with` first.",
  system_managed: "The domain's settings create this record. Change the settings with `domains.update`.",
  last_owner: "Make somebody else an owner first.",
  service_account_expired: "The service account's `expires_at` has passed. Create another service account.",
  group_name_taken: "Names of groups are unique in an account, ignoring case. Choose another name.",
  role_built_in: "Create a role of your own with the capabilities that you need.",
  role_in_use: "Find the assignments with `auth.role_assignments.list` and its `role_key`, and revoke them first.",
  role_key_taken: "Choose another key. `auth.roles.list` shows the keys that are taken.",
  group_not_empty: "Delete or move the groups in `subgroup_ids` first.",
  group_cycle: "You cannot move a group into itself or into a group inside of it. Choose another parent.",
  limit_reached: "The limit on the number of such resources is reached. Remove some first.",
  insufficient_funds:
    "`required` is the amount that the call needs, `available` the free amount in the wallet, and `missing` the rest. Top up the wallet by at least `missing` and try again.",
  plan_unchanged: "There is nothing to change.",
  plan_cancelled:
    "The account has no plan, or its plan is cancelled. The plan cannot be cancelled again, and the account cannot claim dedicated IPs. To have a plan, call `billing.plan.change`.",
  plan_required:
    "Without a plan nothing can be added or sent. To resume, call `billing.plan.change` with one of `plans`. Everything comes back at once.",
  plan_in_use:
    "Delete the account's `dedicated_ip_count` managed dedicated IPs first, or change to another plan. The plan pays for the dedicated IPs as long as they exist.",
  payment_due: "Top up the wallet. The invoice is paid from the wallet at once. Then try again.",
  payment_method_required:
    "Save a card with `billing.payment_method_session.create`. Then switch on automatic recharges.",
  idempotency_in_flight:
    "Wait for `Retry-After` seconds and send the same request again. You then get the answer of the first request.",
  secret_already_shown: "The secret was in the first answer, and is not stored. If you have lost it, create a new one.",
  precondition_failed:
    "Somebody changed the resource since you read it. Read the resource again, and decide anew. If the route does not support `If-Match`, leave the header out.",
  body_too_large: "Send a smaller body. `limit_bytes` is the largest size.",
  unsupported_media_type: "Send the body as `Content-Type: application/json`.",
  rate_limited: "Wait for `Retry-After` seconds and try again.",
  internal: "The error is on our side. Tell us the `request_id`.",
  upstream_unavailable: "As far as we know, nothing was changed. Try again after `Retry-After` seconds.",
  read_only:
    "The operator has stopped all changes. `detail` says why. Requests that only read work. Nothing was changed. Try again after `Retry-After` seconds.",
  busy: "Other requests change the same resource, or the table is throttled. Nothing was changed. Try again after `Retry-After` seconds.",
};
