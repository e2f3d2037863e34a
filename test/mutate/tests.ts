import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** What holds every route to the same promises notices mistakes in the core that all routes go through. */
const ofAllRoutes = ["test/routes.test.ts", "test/tenants.test.ts"];
const further: Readonly<Record<string, readonly string[]>> = {
  "shared/http/authorize.ts": ["test/functions/auth", "test/functions/workspaces", "test/functions/tags"],
  "shared/auth": ["test/functions/auth", "test/functions/accounts", "test/functions/me"],
  "shared/idempotency": [
    "test/shared/http/idempotency.test.ts",
    "test/functions/workspaces",
    "test/functions/credentials",
  ],
  "shared/http/input.ts": ["test/shared/http/input.test.ts", "test/contract.test.ts"],
  "shared/http/invoke.ts": [
    "test/shared/rate-limits",
    "test/functions/workspaces",
    "test/functions/me",
    "test/functions/audit",
  ],
  "shared/mail/credentials": ["test/functions/credentials"],
  "shared/dedicated-ips": ["test/functions/dedicated-ips"],
  "shared/domains/records": ["test/functions/dns-records"],
  "shared/billing": ["test/functions/billing"],
  "shared/ledger": ["test/shared/billing", "test/functions/billing"],
  "shared/rate-limits": ["test/shared/rate-limits", "test/shared/http/lambda.test.ts", "test/infra/operator"],
  "shared/table": ["test/shared/changes", "test/functions/workspaces", "test/functions/audit", "test/lists"],
};

/** The tests that may notice a mistake in a file, in the order in which they are tried. */
export function testsOf(file: string): string[][] {
  const near = [
    `test/${file.replace(/\.ts$/, ".test.ts")}`,
    ...(dirname(file) === "shared" ? [] : [`test/${dirname(file)}`]),
  ];
  const more = Object.entries(further).flatMap(([path, tests]) => (file.startsWith(path) ? tests : []));
  const isThere = (path: string): boolean => existsSync(join(root, path));
  return [near, more, ofAllRoutes].map((tests) => tests.filter(isThere)).filter((tests) => tests.length > 0);
}
