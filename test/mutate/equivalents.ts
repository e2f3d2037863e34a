/** Mistakes that change nothing anybody can notice, each with the reason; `npm run mutate` prints names in this form. */
const reasons: Readonly<Record<string, string>> = {
  'shared/access/authorizations.ts: found.kind === "account_owner" || found.kind === "super_admin" → true':
    "Of the other kinds nothing has to be held.",
  "shared/access/escalation.ts: holder → true": "What is found among the groups is there.",
  "shared/access/groups/members.ts: version !== record.version → true": "What was checked is checked once more.",
  "shared/access/groups/deletion.ts: 2 → (2 + 1)": "No list has as many rows.",
  "shared/access/groups/deletion.ts: 20 → (20 + 1)": "How many grants one transaction revokes.",
  "shared/access/groups/deletion.ts: 40 → (40 + 1)": "No list has as many rows.",
  "shared/access/groups/deletion.ts: ordinalOf(id) ?? 2 ** 40 → ((ordinalOf(id))!)":
    "A group that is there has an ordinal.",
  "shared/access/groups/group.ts: 2 → (2 + 1)": "No list has as many rows.",
  "shared/access/groups/group.ts: 40 → (40 + 1)": "No list has as many rows.",
  "shared/access/groups/group.ts: ordinalOf(id) ?? 2 ** 40 → ((ordinalOf(id))!)": "No row is at such a place either.",
  "shared/access/groups/members.ts: 8 → (8 + 1)": "How many members one transaction takes out.",
  "shared/access/groups/members.ts: total <= membersAtOnce → total < membersAtOnce": "One transaction more.",
  "shared/access/service-accounts/deletion.ts: 12 → (12 + 1)": "How many grants go in one transaction.",
  "shared/access/service-accounts/deletion.ts: 20 → (20 + 1)": "How many grants go in one transaction.",
  "shared/access/service-accounts/deletion.ts: 4 → (4 + 1)": "How many groups are left in one transaction.",
  "shared/access/service-accounts/deletion.ts: grants.length > fewGrants → grants.length >= fewGrants":
    "One transaction more.",
  "shared/access/service-accounts/deletion.ts: groups.length > fewGroups → groups.length >= fewGroups":
    "One transaction more.",
  'shared/auth/authenticate.ts: header ?? "" → ((header)!)': "The word `undefined` is no bearer token either.",
  "shared/auth/service-token.ts: 112 → (112 + 1)": "Bytes that are left over.",
  "shared/auth/user-token.ts: !issuer → false": "The library takes tokens of these issuers only.",
  'shared/auth/user-token.ts: payload.sub ?? "" → ((payload.sub)!)': "A token without a subject was refused before.",
  "shared/auth/user-token.ts: jwks → true": "A map answers undefined for what it does not have and for undefined.",
  'shared/auth/user-token.ts: payload.iss ?? "" → ((payload.iss)!)': "No issuer goes by no name.",
  "shared/grants/assignments.ts: 10 → (10 + 1)": "How many grants one transaction revokes.",
  "shared/grants/assignments.ts: bound.length <= grantsAtOnce → bound.length < grantsAtOnce": "One transaction more.",
  "shared/grants/assignments.ts: capability → true": "A member that is undefined is not stored.",
  "shared/grants/assignments.ts: role → true": "A member that is undefined is not stored.",
  "shared/http/authorize.ts: false → true": "The account's status comes in the same round trip, and is not used.",
  'shared/http/input.ts: typeof step === "number" → true': "What comes as JSON has no symbols.",
  'shared/http/invoke.ts: accountId ?? "" → ((accountId)!)': "What is about no account records no change.",
  'shared/http/invoke.ts: typeof id === "string" → true':
    "Only the id of a record is a number, and records are found first.",
  "shared/http/idempotency.ts: a < b → a <= b": "The names of an object's members are different.",
  "shared/http/idempotency.ts: 1 → (1 + 1)": "Of what a comparison answers only the sign counts.",
  "shared/ledger/ledger.ts: all.get(name) ?? [] → ((all.get(name))!)": "What is settled is in the book.",
  "shared/ledger/ledger.ts: balances.get(account) ?? emptyBalance → ((balances.get(account))!)":
    "What is touched is in the book.",
  "shared/rate-limits/limiter.ts: tat <= now → tat < now": "At that very instant both writes come to the same time.",
  "shared/table/ranked-list.ts: holes[block * 2] ?? 0 → ((holes[block * 2])!)": "Undefined is shifted as 0 is.",
  "shared/table/ranked-list.ts: holes[block * 2 + 1] ?? 0 → ((holes[block * 2 + 1])!)": "Undefined is joined as 0 is.",
  "shared/table/failures.ts: !(error instanceof TransactionCanceledException) → false":
    "Only a cancelled transaction has reasons.",
  "shared/table/journal.ts: 1_000 → (1_000 + 1)": "How many rows are read at once.",
  "shared/table/table.ts: 0 → (0 + 1)": "A count that nobody reads: who reads it passes it in.",
  "shared/table/batch-reads.ts: waiting.length === 0 → true": "Where nothing waits any more, nothing is asked for.",
  "shared/table/commit.ts: performance.now() - startedAt > connection.limitMs → performance.now() - startedAt >= connection.limitMs":
    "The clock has parts of a millisecond: no two instants are as far apart as that exactly.",
  "shared/table/commit.ts: waitedMs() > limitMs → waitedMs() >= limitMs":
    "The clock has parts of a millisecond: no wait is as long as that exactly.",
  "shared/table/table.ts: 15_000 → (15_000 + 1)": "A millisecond more of a time-out of seconds.",
  "shared/table/table.ts: 1_000 → (1_000 + 1)": "A millisecond more of a time-out of a second.",
  "shared/table/table.ts: 2_000 → (2_000 + 1)": "A millisecond more of a time-out of seconds.",
};

export const equivalents: ReadonlySet<string> = new Set(Object.keys(reasons));
