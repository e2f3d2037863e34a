import type { ProblemCode } from "../../shared/core/errors.ts";

/** What each problem means and how to solve it, for the page of errors. */
export const adviceOf: Record<ProblemCode, string> = {
  malformed_json: "The body could not be parsed. Send one JSON document and nothing behind it.",
  malformed_request: "The request could not be read at all. Check how your client builds it.",
  unauthenticated:
    "No token came, or one that is not valid here. Send <code>Authorization: Bearer …</code> with an access token.",
  token_expired: "Get a new access token from your identity provider, or a new service account token.",
  token_revoked: "The service account was revoked or its token rotated. Use the new token.",
  forbidden:
    "You see the account but lack <code>required_capability</code> there. Ask somebody with <code>auth.manage</code> for it.",
  account_suspended: "The account can be read, not changed. Its owner can settle what is due, or ask us.",
  origin_not_allowed:
    "A web page called from an origin that is not configured. Call from a server, or have the origin added.",
  would_escalate: "What you hand out must be yours. <code>missing</code> names what is not.",
  not_found: "The thing does not exist, or you may not know that it does. Check the id and the account.",
  method_not_allowed: "The path exists but takes other methods: see the header <code>Allow</code>.",
  account_closed: "A closed account is never opened again.",
  workspace_name_taken:
    "Names are unique in an account, ignoring case. Choose another, or use the workspace in <code>conflicts_with</code>.",
  workspace_not_empty: "Move or delete its domains first.",
  tag_name_taken: "Names of tags are unique in an account, ignoring case. Use the tag in <code>conflicts_with</code>.",
  domain_taken:
    "A name is in one account only. If it is yours, delegate it to the <code>nameservers</code> of the answer, then add it again.",
  domain_exists: "The account has this domain: find it by <code>domains.get</code>.",
  domain_not_empty: "Delete its mailboxes first.",
  domain_not_ready:
    "<code>domain_status</code> says what it is at. Wait until that is over, or see what it takes to end it.",
  mailbox_not_ready: "<code>mailbox_status</code> says what it is at.",
  address_taken: "Choose another address, or use the mailbox in <code>conflicts_with</code>.",
  out_of_stock: "Claim another option of <code>dedicated_ips.available_options</code>, or try again later.",
  ip_in_use: "Unassign its <code>domain_count</code> domains first, or wait until an assignment that goes on is done.",
  ip_taken:
    "<code>ip</code> is the address. The dedicated IP in <code>conflicts_with</code> has it, or another account, which has proved it.",
  ip_not_ready:
    "<code>ip_status</code> says what it is at. Authorize it, or wait until it is <code>active</code>; one that is <code>suspended</code> waits for us.",
  domain_has_ip:
    "<code>domain</code> sends from <code>dedicated_ip_id</code>: unassign it there first. Nothing was changed for the others either.",
  quote_changed:
    "<code>estimated_total</code> is what it costs now. Ask again with a higher <code>max_total</code> if you agree.",
  forwarding_exists: "<code>conflicts_with</code> is the rule that does this already. Change or resume that one.",
  forwarding_loop:
    "<code>conflicts_with</code> are the rules that copies would come back by. Send them to an address outside of these.",
  verification_failed:
    "<code>reason</code> is <code>wrong</code>, <code>no_tries_left</code>, <code>expired</code> or <code>not_sent</code>; <code>tries_left</code> says how often the code in the last mail may still be tried. At 0, send a new one.",
  verification_not_needed: "The recipient agreed already, or is a mailbox of the account.",
  record_exists: "The record is there already: <code>conflicts_with</code> is its id.",
  record_conflict: "Change or delete the record in <code>conflicts_with</code> first.",
  system_managed: "The domain's settings make this record. Change those with <code>domains.update</code>.",
  last_owner: "Make somebody else an owner first.",
  service_account_expired: "It ended at its <code>expires_at</code>. Create another one.",
  group_name_taken: "Names of groups are unique in an account, ignoring case. Choose another.",
  group_not_empty: "Delete or move the groups in <code>subgroup_ids</code> first.",
  group_cycle: "The group you want to move into is inside of the one you are moving.",
  limit_reached: "There are as many of these as there can be. Remove some first.",
  insufficient_funds: "<code>available</code> is what is free in the wallet. Top it up and try again.",
  plan_unchanged: "There is nothing to change.",
  plan_cancelled:
    "Change to a plan to have one again, or to keep it: without one, or with one that ends, there is nothing to cancel, and nothing to claim.",
  plan_in_use:
    "Delete the account's <code>dedicated_ip_count</code> managed dedicated IPs first, or change to another plan: they cost something as long as they are there.",
  payment_due: "Top up the wallet: the invoice is paid from it at once, and then this works.",
  idempotency_in_flight:
    "Wait for <code>Retry-After</code> and send the same again: the answer of the first is then yours.",
  secret_already_shown: "The secret was in the first answer and is kept nowhere. If you have lost it, make a new one.",
  precondition_failed:
    "Somebody changed it since you read it: read it again and decide anew. Or the route honours no `If-Match`: leave the header out.",
  body_too_large: "Send less at once: <code>limit_bytes</code> is the most.",
  unsupported_media_type: "Send the body as <code>Content-Type: application/json</code>.",
  rate_limited: "Wait for as long as <code>Retry-After</code> says.",
  internal: "It is our fault. Tell us the <code>request_id</code>.",
  upstream_unavailable: "Nothing is known to have changed; try again after <code>Retry-After</code> seconds.",
  read_only:
    "The operator has stopped all changes, and says why. What only reads works. Nothing was changed; try again after <code>Retry-After</code> seconds.",
  busy: "Others change the same thing, or the table is throttled. Nothing was changed; try again after <code>Retry-After</code> seconds.",
};
