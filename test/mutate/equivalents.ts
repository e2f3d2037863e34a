/** Mistakes that change no behaviour, each with the reason. `npm run mutate` prints names in this form. */
const reasons: Readonly<Record<string, string>> = {
  'shared/access/authorizations.ts: kind === "account_owner" || kind === "super_admin" → true':
    "The other kinds need no permission.",
  "shared/access/escalation.ts: holder → true": "Every group of the list exists.",
  "shared/access/groups/members.ts: current.version !== record.version → true": "It only repeats the check.",
  "shared/access/groups/deletion.ts: 2 → (2 + 1)": "No list has so many rows.",
  "shared/access/groups/deletion.ts: 20 → (20 + 1)": "One more grant in each transaction.",
  "shared/access/groups/deletion.ts: 40 → (40 + 1)": "No list has so many rows.",
  "shared/access/groups/deletion.ts: ordinalOf(id) ?? 2 ** 40 → ((ordinalOf(id))!)":
    "The id of every stored group has an ordinal.",
  "shared/access/groups/group.ts: 2 → (2 + 1)": "No list has so many rows.",
  "shared/access/groups/group.ts: 40 → (40 + 1)": "No list has so many rows.",
  "shared/access/groups/group.ts: ordinalOf(id) ?? 2 ** 40 → ((ordinalOf(id))!)": "No row has such an ordinal either.",
  "shared/access/groups/members.ts: 8 → (8 + 1)": "One more member in each transaction.",
  "shared/access/groups/members.ts: total <= batchSize → total < batchSize": "One transaction more.",
  "shared/access/members.ts: groups ?? [] → ((groups)!)": "Every range is read.",
  "shared/access/members.ts: named → []": "The names are read later instead of ahead.",
  'shared/access/members.ts: type === "user" → true': "No service account has the id of a user.",
  "shared/access/service-account.ts: 12 → (12 + 1)": "One more grant in each transaction.",
  "shared/access/service-account.ts: 20 → (20 + 1)": "One more grant in each transaction.",
  "shared/access/service-account.ts: 4 → (4 + 1)": "One more group in each transaction.",
  "shared/access/service-account.ts: grants.length > maxPurgedGrants → grants.length >= maxPurgedGrants":
    "One transaction more.",
  "shared/access/service-account.ts: groups.length > maxPurgedGroups → groups.length >= maxPurgedGroups":
    "One transaction more.",
  "shared/auth/permissions.ts: end ?? [] → ((end)!)": "No end in the list is undefined.",
  "shared/auth/service-token.ts: 112 → (112 + 1)": "One more byte that is not used.",
  "shared/auth/user-token.ts: !issuer → false": "The library accepts only tokens of these issuers.",
  'shared/auth/user-token.ts: payload.sub ?? "" → ((payload.sub)!)': "A token without a subject is refused earlier.",
  "shared/auth/user-token.ts: jwks → true": "A map returns undefined for a missing key and for undefined.",
  'shared/auth/user-token.ts: payload.iss ?? "" → ((payload.iss)!)': "No issuer has an empty name.",
  'shared/billing/usage.ts: ended.at(-1)?.last ?? "" → ((ended.at(-1)?.last)!)': "A full page has a last row.",
  "shared/billing/recharges/auto-recharge.ts: version + 1 → version - 1":
    "Successive versions only have to differ from each other and from 0.",
  "shared/billing/recharges/recharge.ts: charge_id === undefined → false": "A charge that succeeded has an id.",
  "shared/billing/recharges/recharge.ts: current === undefined → false": "No recharge has the id `undefined`.",
  "shared/billing/recharges/recharge.ts: method → true": "A recharge has a payment method, whose row is never removed.",
  "shared/billing/usage.ts: 10 → (10 + 1)": "One more mailbox in the first read.",
  "shared/billing/usage.ts: state.live === 0 → false": "An empty list has no rows.",
  "shared/billing/usage.ts: counted → []": "The heads are read later instead of ahead.",
  "shared/billing/usage.ts: !existing || !deleted → !existing && !deleted": "Each list that is opened has a head.",
  'shared/dedicated-ips/removal.ts: type === "byoh" → type !== "byoh"': "The holders are read later instead of ahead.",
  "shared/grants/assignments.ts: 8 → (8 + 1)": "One more grant in each transaction.",
  "shared/grants/assignments.ts: assignments.length <= grantsPerTransaction → assignments.length < grantsPerTransaction":
    "One transaction more.",
  "shared/grants/assignments.ts: capability → true": "A member that is undefined is not stored.",
  "shared/grants/assignments.ts: role → true": "A member that is undefined is not stored.",
  "shared/http/authorize.ts: false → true": "It only reads the account's status, which is not used.",
  'shared/http/input.ts: typeof step === "number" → true': "JSON has no symbols.",
  'shared/http/invoke.ts: accountId ?? "" → ((accountId)!)': "A request without an account records no change.",
  'shared/http/invoke.ts: typeof id === "string" → true':
    "Only ids of records are numbers, and a record is found first.",
  "shared/http/idempotency.ts: a < b → a <= b": "The names of an object's members are different.",
  "shared/http/idempotency.ts: 1 → (1 + 1)": "Only the sign of a comparison matters.",
  'shared/ledger/book.ts: hold.status ?? "gone" → ((hold.status)!)': "Every hold has a status.",
  'shared/ledger/book.ts: kind === "hold" && operation.expiresAt !== undefined → true':
    "A member that is undefined is not stored.",
  'shared/ledger/book.ts: kind === "hold" && operation.expiresAt !== undefined → kind === "hold" || operation.expiresAt !== undefined':
    "A member that is undefined is not stored.",
  "shared/ledger/ledger.ts: reads < maxReads → reads <= maxReads":
    "One more read of a balance that changes at each read.",
  "shared/ledger/ledger.ts: others.length > 0 → true": "The balances of no accounts are read without a call.",
  "shared/ledger/ledger.ts: others.length > 0 → others.length >= 0":
    "The balances of no accounts are read without a call.",
  "shared/ledger/ledger.ts: movements.get(id) ?? [] → ((movements.get(id))!)": "The book has every settled movement.",
  "shared/ledger/ledger.ts: balances.get(account) ?? emptyBalance → ((balances.get(account))!)":
    "The book has every changed balance.",
  "shared/mail/forwarding/manage.ts: aheadOfMails(accountId, external, clock()) → []":
    "The limits are read later instead of ahead.",
  "shared/mail/forwarding/manage.ts: (rule ? waiting.map(({ slot }) => proofKey(accountId, id, slot)) : [proofKey(accountId, id)]) → []":
    "The proofs are read later instead of ahead.",
  "shared/mail/forwarding/manage.ts: emails.length > 0 → emails.length < 0":
    "The proof is read later instead of ahead.",
  "shared/mail/forwarding/manage.ts: domainId === undefined → false": "A member that is undefined is not stored.",
  "shared/rate-limits/limiter.ts: tat <= now → tat < now": "At that time both writes have the same result.",
  "shared/table/ranked-list.ts: holes[block * 2] ?? 0 → ((holes[block * 2])!)": "Undefined is shifted like 0.",
  "shared/table/ranked-list.ts: holes[block * 2 + 1] ?? 0 → ((holes[block * 2 + 1])!)": "Undefined is joined like 0.",
  "shared/table/journal-keys.ts: 1_000 → (1_000 + 1)": "One more row in each read.",
  "shared/table/table.ts: 0 → (0 + 1)": "The default usage is never read.",
  "shared/table/batch-reads.ts: waiting.length === 0 → true": "Nothing is read for an empty queue.",
  "shared/table/commit.ts: performance.now() - startedAt > connection.limitMs → performance.now() - startedAt >= connection.limitMs":
    "The clock has fractions of a millisecond, so the two are never equal.",
  "shared/table/commit.ts: waitedMs() > limitMs → waitedMs() >= limitMs":
    "The clock has fractions of a millisecond, so the two are never equal.",
  "shared/table/table.ts: 15_000 → (15_000 + 1)": "A longer time-out by a millisecond.",
  "shared/table/sdk.ts: 1_000 → (1_000 + 1)": "A longer time-out by a millisecond.",
  "shared/table/sdk.ts: 2_000 → (2_000 + 1)": "A longer time-out by a millisecond.",
  "shared/webhooks/outcome.ts: 86_400 → (86_400 + 1)": "The outcome is kept for 40 seconds more.",
};

export const equivalents: ReadonlySet<string> = new Set(Object.keys(reasons));
