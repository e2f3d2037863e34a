import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** Slow test files. They notice mistakes in the whole core, and take a minute. */
export const slow: readonly string[] = [
  "test/routes.test.ts",
  "test/tenants.test.ts",
  "test/contract.test.ts",
  "test/shared/auth/decisions.test.ts",
  "test/shared/core/etag.test.ts",
  "test/shared/http/idempotency.test.ts",
  "test/functions/code/callable-functions.test.ts",
];

/**
 * Further test folders and files for sources, besides those with the name of the source. The tests of the list `apart`
 * in `vitest.config.ts` never run here.
 */
const further: Readonly<Record<string, readonly string[]>> = {
  "shared/http/authorize.ts": [
    "test/functions/auth/authorizations",
    "test/functions/workspaces",
    "test/functions/accounts",
    "test/functions/me",
    "test/functions/code/functions-route.test.ts",
  ],
  "shared/access/": ["test/functions/auth", "test/shared/access", "test/shared/accounts", "test/infra/operator"],
  "shared/access/members.ts": ["test/functions/me", "test/functions/mailboxes/restore.test.ts"],
  "shared/accounts/": ["test/functions/auth", "test/functions/accounts", "test/functions/me"],
  "shared/grants/": ["test/functions/auth"],
  "shared/auth/": [
    "test/shared/accounts",
    "test/functions/auth/authorizations",
    "test/functions/auth/service-accounts",
    "test/functions/me",
  ],
  "shared/http/idempotency": ["test/shared/http/idempotency-answers.test.ts", "test/functions/workspaces"],
  "shared/http/input.ts": ["test/shared/http/words.test.ts", "test/functions/workspaces"],
  "shared/http/invoke.ts": [
    "test/shared/http/authorize.test.ts",
    "test/shared/http/lambda.test.ts",
    "test/functions/workspaces",
    "test/functions/me",
    "test/functions/audit",
    "test/functions/code/public-functions.test.ts",
  ],
  "shared/mail/credentials": ["test/functions/credentials"],
  "shared/dedicated-ips": ["test/functions/dedicated-ips", "test/shared/billing/dedicated-ips.test.ts"],
  "shared/domains/records": ["test/functions/dns-records"],
  "shared/domains/renewal": ["test/functions/domains/renew.test.ts", "test/functions/domains/dry-run.test.ts"],
  "shared/domains/purchase": [
    "test/functions/domains/purchase.test.ts",
    "test/functions/domains/purchase-access.test.ts",
    "test/functions/domains/purchase-again.test.ts",
    "test/functions/domains/purchase-input.test.ts",
    "test/functions/domains/purchase-once.test.ts",
    "test/functions/domains/search.test.ts",
    "test/functions/domains/transfer.test.ts",
    "test/functions/domains/dry-run.test.ts",
  ],
  "shared/mail/forwarding": ["test/functions/forwarding", "test/functions/workers/send-verification.test.ts"],
  "shared/webhooks": [
    "test/functions/webhooks",
    "test/functions/workers/dispatch-event.test.ts",
    "test/functions/workers/publish-changes.test.ts",
    "test/functions/workers/retry-deliveries.test.ts",
  ],
  "shared/wallet": ["test/shared/billing", "test/functions/billing"],
  "shared/billing": ["test/functions/billing"],
  "shared/billing/invoices": ["test/shared/billing"],
  "shared/billing/recharges": ["test/shared/billing"],
  "shared/ledger": ["test/shared/billing", "test/functions/billing"],
  "shared/rate-limits": ["test/shared/rate-limits", "test/shared/http/lambda.test.ts", "test/infra/operator"],
  "shared/table": ["test/shared/changes", "test/functions/workspaces", "test/functions/audit"],
};

/** The test files and folders for a source and its neighbours. */
export function testsOf(file: string): string[] {
  const near = [
    `test/${file.replace(/\.ts$/, ".test.ts")}`,
    ...(dirname(file) === "shared" ? [] : [`test/${dirname(file)}`]),
  ];
  const more = Object.entries(further).flatMap(([path, tests]) => (file.startsWith(path) ? tests : []));
  return [...near, ...more].filter((path) => existsSync(join(root, path)));
}
