import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";

import { readConfig } from "../../infra/config/config.ts";
import { type LambdaSpec, type WorkerSpec, originAuthorizer, web } from "../../infra/entry-points.ts";
import { addStack, createApp } from "../../infra/stack.ts";

// cdk-nag runs in every synthesis. CloudFormation's rules take seconds to load: `npm run validate` tries them.
process.env["CDK_VALIDATION"] = "false";

/** A Lambda that exists in the template only. */
export const spec = (name: string, given: Partial<LambdaSpec> = {}): LambdaSpec => ({
  name,
  file: `functions/${name}.ts`,
  access: "read",
  triggers: [`GET /v1/public/${name}`],
  ...given,
});

/** `count` Lambdas whose names and paths are as long as the product's longest. */
export const manySpecs = (count: number): LambdaSpec[] =>
  Array.from({ length: count }, (_, index) =>
    spec(`dedicated_ips.domains.unassign_${index}`, {
      access: index % 2 === 0 ? "read" : "write",
      triggers: [`POST /v1/public/accounts/{account_id}/dedicated-ips/{dedicated_ip_id}/domains/unassign-${index}`],
    }),
  );

/**
 * The template of the stack that holds `specs`, synthesized for real, cdk-nag included, over bundles of one line.
 * `plant` adds to the stack what a test wants to be found. There are no workers unless given.
 */
export function synthesize(
  specs: readonly LambdaSpec[],
  settings: Record<string, unknown> = {},
  plant?: (stack: Stack) => void,
  workers: readonly WorkerSpec[] = [],
): Template {
  const folder = mkdtempSync(join(tmpdir(), "synthesis-"));
  try {
    for (const { name } of [...specs, ...workers, originAuthorizer, web]) {
      mkdirSync(join(folder, "bundles", name), { recursive: true });
      writeFileSync(join(folder, "bundles", name, "index.js"), `exports.handler = async () => "${name}";`);
    }
    const app = createApp(join(folder, "out"));
    const config = readConfig((key) => settings[key], {});
    const stack = addStack(app, { lambdas: specs, workers }, join(folder, "bundles"), config);
    plant?.(stack);
    return Template.fromStack(stack);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The logical id of the only resource of a type, and the resource. */
export function only(template: Template, type: string): [string, ReturnType<Template["findResources"]>[string]] {
  const [found, ...others] = Object.entries(template.findResources(type));
  if (found === undefined || others.length > 0) throw new Error(`The template has not exactly one ${type}`);
  return found;
}
