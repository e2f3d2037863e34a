import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { lambdas, workers } from "../infra/entry-points.ts";

const root = resolve(import.meta.dirname, "..");
const sources = globSync("{functions,shared,infra,test}/**/*.ts", { cwd: root }).filter(
  (file) => !file.includes("node_modules"),
);
const read = (file: string): string => readFileSync(resolve(root, file), "utf8");

/** The files of the project that a file imports. */
const importsOf = (file: string): string[] =>
  [...read(file).matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, target = ""]) =>
    resolve(root, file, "..", target).slice(root.length + 1),
  );

test("imports run one way: functions to shared, infra to both, test to all", () => {
  const allowed: Record<string, string[]> = {
    shared: ["shared"],
    functions: ["functions", "shared"],
    infra: ["infra", "functions", "shared"],
    test: ["test", "infra", "functions", "shared"],
  };
  const wrong = sources.flatMap((file) => {
    const folder = file.split("/")[0] ?? "";
    return importsOf(file).flatMap((target) =>
      allowed[folder]?.includes(target.split("/")[0] ?? "") ? [] : [`${file} → ${target}`],
    );
  });
  expect(sources.length).toBeGreaterThan(50);
  expect(wrong).toEqual([]);
});

/**
 * The layers of a folder, from the top to the bottom. Files of a layer import only from their layer and the layers
 * after it. A name that ends with `/` is a folder.
 */
const layers: Record<string, readonly string[]> = {
  "functions/code": [
    "handler.ts",
    "protocols/",
    "execution/",
    "catalogue.ts",
    "sessions/",
    "envelope.ts",
    "checker/",
    "catalogue/",
    "interpreter/",
    "language/",
  ],
  shared: [
    "migrations/",
    "limits/",
    "webhooks/",
    "web/",
    "notices/",
    "access/",
    "deletion/",
    "domains/registration/",
    "domains/purchase/",
    "domains/renewal/",
    "domains/dkim/",
    "domains/setup/",
    "domains/health/",
    "billing/",
    "mail/",
    "dedicated-ips/",
    "domains/",
    "wallet/",
    "feedback/",
    "audit/",
    "workspaces/",
    "tags/",
    "statistics/",
    "letters/",
    "providers/",
    "http/",
    "grants/",
    "rate-limits/",
    "accounts/",
    "changes/",
    "auth/",
    "ledger/",
    "dns/",
    "table/",
    "core/",
  ],
  infra: [
    "cdk/app.ts",
    "deploy/",
    "mail-server/",
    "operator/",
    "restore/",
    "smoke/",
    "cli/",
    "client/",
    "lock-file/",
    "cdk/stack.ts",
    "cdk/constructs/",
    "cdk/monitoring/",
    // Below the constructs: the product starts without the CDK, which takes as long to load as all the rest.
    "local/",
    "build/",
    "docs-pages/",
    "docs/",
    "openapi/",
    "stages/",
    "config/",
    "entry-points.ts",
    "assets.ts",
  ],
};

/**
 * The allowed imports from a higher layer. A domain whose registration failed makes room for another try: to add or to
 * buy the name deletes this domain.
 */
const upwards = new Set([
  "shared/domains/setup/add.ts → shared/deletion/domain.ts",
  "shared/domains/purchase/order.ts → shared/deletion/domain.ts",
  "shared/domains/purchase/continue-batch.ts → shared/deletion/domain.ts",
]);

test.each(Object.entries(layers))("the layers of %s import only downwards", (folder, order) => {
  const layerOf = (file: string): number => {
    const path = file.slice(folder.length + 1);
    return order.findIndex((layer) => (layer.endsWith("/") ? path.startsWith(layer) : path === layer));
  };
  const inside = sources.filter((file) => file.startsWith(`${folder}/`));
  expect(inside.filter((file) => layerOf(file) < 0)).toEqual([]);
  const wrong = inside.flatMap((file) =>
    importsOf(file)
      .filter((target) => target.startsWith(`${folder}/`) && layerOf(target) < layerOf(file))
      .map((target) => `${file} → ${target}`),
  );
  expect(wrong.filter((arrow) => !upwards.has(arrow))).toEqual([]);
});

test("a folder of the product has at most 26 files", () => {
  const files = new Map<string, number>();
  for (const file of sources) {
    const folder = file.slice(0, file.lastIndexOf("/"));
    if (!folder.startsWith("test")) files.set(folder, (files.get(folder) ?? 0) + 1);
  }
  expect([...files].filter(([, count]) => count > 26)).toEqual([]);
});

/** The files that declare each name at their top level; with `exported`, only those that export it. */
function declaring(files: readonly string[], exported: boolean): Map<string, Set<string>> {
  const declared = new Map<string, Set<string>>();
  const declaration = new RegExp(
    `^${exported ? "export " : "(?:export )?"}(?:async )?(?:const|let|function\\*?|class|type) (\\w+)`,
    "gm",
  );
  for (const file of files) {
    for (const [, name = ""] of read(file).matchAll(declaration)) {
      declared.set(name, (declared.get(name) ?? new Set()).add(file));
    }
  }
  return declared;
}

test("in code mode a name is exported by one file only, but for `route` and `handler`", () => {
  const exporting = declaring(
    sources.filter((path) => path.startsWith("functions/code/")),
    true,
  );
  exporting.delete("route");
  exporting.delete("handler");
  expect(exporting.size).toBeGreaterThan(100);
  expect([...exporting].filter(([, files]) => files.size > 1).map(([name]) => name)).toEqual([]);
});

/** Names that mean the same in every file: the parts of a route, a provider's factory, a command, and work in steps. */
const sameEverywhere = new Set(
  "route handler usage readOptions Options say calls notConfigured ofProcess loadSdk concurrency leaseMs pageSize budgetMs root Schema".split(
    " ",
  ),
);

test("no name is declared in more than three files of the product, except the names in `sameEverywhere`", () => {
  const files = declaring(
    sources.filter((path) => !path.startsWith("test/")),
    false,
  );
  const wrong = [...files].filter(([name, { size }]) => size > 3 && !sameEverywhere.has(name));
  expect(files.size).toBeGreaterThan(3_000);
  expect(wrong.map(([name, { size }]) => `${name} ${size}`)).toEqual([]);
});

test("every member that takes a time in the future is named `expires_at`, because `requireFutureEnds` checks only these members", () => {
  const members = sources.flatMap((file) =>
    [...read(file).matchAll(/(\w+): (?:FutureTime|GrantEnd)\b/g)].map(([, name]) => name),
  );
  expect(members.length).toBeGreaterThan(4);
  expect(new Set(members)).toEqual(new Set(["expires_at"]));
});

test("zod is imported as a namespace, so that no bundle holds its locales", () => {
  const named = sources.filter((file) => /import (?:type )?(?:\{|\w+ from) ?.*from "zod"/.test(read(file)));
  expect(named).toEqual([]);
});

test("importing any Lambda's or worker's file needs no environment variables and opens nothing", () => {
  const files = [...lambdas, ...workers].map(({ file }) => `await import(${JSON.stringify(resolve(root, file))});`);
  const program = [
    "process.stdout; process.stderr;",
    "const before = process.getActiveResourcesInfo().length;",
    ...files,
    "process.stdout.write(`${process.getActiveResourcesInfo().length - before} opened`);",
  ].join("\n");
  const env = { PATH: process.env["PATH"] ?? "" };
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], { env, encoding: "utf8" });
  expect(output).toBe("0 opened");
});

test("the documents name only files that exist", () => {
  const named = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md"].flatMap((file) =>
    [...read(file).matchAll(/`((?:functions|shared|infra|events|test|docs)\/[\w./-]*\.(?:ts|json|md))`/g)].map(
      ([, path]) => path,
    ),
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => globSync(path ?? "", { cwd: root }).length === 0)).toEqual([]);
});
