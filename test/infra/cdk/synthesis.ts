import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { addStack, createApp } from "../../../infra/cdk/stack.ts";
import { readConfig } from "../../../infra/config/config.ts";
import { type LambdaSpec, type WorkerSpec, originAuthorizer, secretRotator, web } from "../../../infra/entry-points.ts";

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

// Tests reach the CDK's packages only through the modules of infra/cdk.
export type Stack = ReturnType<typeof addStack>;

/** A resource of a template. */
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads what the template has and asserts its shape
type Resource = Record<string, any>;

type Sections = { Resources: Record<string, Resource>; Outputs?: Record<string, Resource> };

/** A CloudFormation template, as it is written. */
export class Template {
  readonly #sections: Sections;

  constructor(sections: Sections) {
    this.#sections = sections;
  }

  /** The resources of a type, by their logical ids. */
  findResources(type: string): Record<string, Resource> {
    return Object.fromEntries(Object.entries(this.#sections.Resources).filter(([, { Type }]) => Type === type));
  }

  /** The output of a name, or with `*` all outputs. */
  findOutputs(name: string): Record<string, Resource> {
    return Object.fromEntries(
      Object.entries(this.#sections.Outputs ?? {}).filter(([id]) => name === "*" || id === name),
    );
  }

  toJSON(): Sections {
    return this.#sections;
  }
}

/**
 * Synthesizes the stacks with `specs` for real, with cdk-nag, over bundles of one line. Returns the template of the
 * main stack, the templates of all stacks by name, and the templates of nested stacks. `plant` gets the main stack
 * before the synthesis, to add a resource with a fault or to read the stack.
 */
export function synthesizeAll(
  specs: readonly LambdaSpec[],
  settings: Record<string, unknown> = {},
  plant?: (stack: Stack) => void,
  workers: readonly WorkerSpec[] = [],
): { main: Template; byName: Map<string, Template>; nested: Template[] } {
  const folder = mkdtempSync(join(tmpdir(), "synthesis-"));
  try {
    for (const { name } of [...specs, ...workers, originAuthorizer, secretRotator, web]) {
      mkdirSync(join(folder, "bundles", name), { recursive: true });
      writeFileSync(join(folder, "bundles", name, "index.js"), `exports.handler = async () => "${name}";`);
    }
    const app = createApp(join(folder, "out"));
    const config = readConfig((key) => settings[key], {});
    const stack = addStack(app, { lambdas: specs, workers }, join(folder, "bundles"), config);
    plant?.(stack);
    const { stacks } = app.synth();
    const byName = new Map(stacks.map(({ stackName, template }) => [stackName, new Template(template as Sections)]));
    const main = byName.get(stack.stackName);
    if (main === undefined) throw new Error(`There is no template of ${stack.stackName}`);
    const nestedFiles = readdirSync(join(folder, "out")).filter((name) => name.endsWith(".nested.template.json"));
    const nested = nestedFiles.toSorted().map((name) => {
      const text = readFileSync(join(folder, "out", name), "utf8");
      return new Template(JSON.parse(text) as Sections);
    });
    return { main, byName, nested };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The template of the main stack that holds `specs`: see `synthesizeAll`. */
export const synthesize = (...given: Parameters<typeof synthesizeAll>): Template => synthesizeAll(...given).main;

/** The logical id of the only resource of a type, and the resource. */
export function only(template: Template, type: string): [string, Resource] {
  const [found, ...others] = Object.entries(template.findResources(type));
  if (found === undefined || others.length > 0) throw new Error(`The template does not have exactly one ${type}`);
  return found;
}

/** The class of a construct in the stack. A test uses the class to plant another construct. */
// oxlint-disable-next-line typescript/no-explicit-any -- a construct's class cannot be named without the CDK's types
export function classOf(stack: Stack, name: string): new (...given: any[]) => unknown {
  const found = stack.node.findAll().find((construct) => construct.constructor.name === name);
  if (found === undefined) throw new Error(`The stack has no ${name}`);
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  return found.constructor as new (...given: any[]) => unknown;
}
