import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** Tests that notice mistakes in all of the core, and take a minute. */
export const slow: readonly string[] = [
  "test/routes.test.ts",
  "test/tenants.test.ts",
  "test/contract.test.ts",
  "test/shared/auth/decisions.test.ts",
  "test/shared/etag.test.ts",
  "test/shared/idempotency.test.ts",
  "test/functions/code/callable-functions.test.ts",
];

/** Folders and files of tests that are about a source besides those of its own name. */
const further: Readonly<Record<string, readonly string[]>> = {
  "shared/authorize.ts": [
    "test/functions/auth/authorizations",
    "test/functions/workspaces",
    "test/functions/accounts",
    "test/functions/me",
    "test/functions/code/functions-route.test.ts",
  ],
  "shared/auth/": ["test/functions/auth", "test/functions/accounts", "test/functions/me"],
  "shared/idempotency": ["test/shared/idempotency-answers.test.ts", "test/functions/workspaces"],
  "shared/input.ts": ["test/shared/words.test.ts", "test/functions/workspaces"],
  "shared/invoke.ts": [
    "test/shared/authorize.test.ts",
    "test/shared/lambda.test.ts",
    "test/functions/workspaces",
    "test/functions/me",
    "test/functions/audit",
    "test/functions/code/public-functions.test.ts",
  ],
  "shared/credentials": ["test/functions/credentials"],
  "shared/dedicated-ips": ["test/functions/dedicated-ips"],
  "shared/dns-records": ["test/functions/dns-records"],
  "shared/billing": ["test/functions/billing"],
  "shared/ledger": ["test/shared/billing", "test/functions/billing"],
  "shared/limits": ["test/shared/limits", "test/shared/lambda.test.ts", "test/infra/operator"],
  "shared/table": ["test/shared/changes", "test/functions/workspaces", "test/functions/audit"],
};

/** The tests that are about a file and what is around it. */
export function testsOf(file: string): string[] {
  const near = [
    `test/${file.replace(/\.ts$/, ".test.ts")}`,
    ...(dirname(file) === "shared" ? [] : [`test/${dirname(file)}`]),
  ];
  const more = Object.entries(further).flatMap(([path, tests]) => (file.startsWith(path) ? tests : []));
  return [...near, ...more].filter((path) => existsSync(join(root, path)));
}
