import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";

import * as z from "zod";

import { readWords } from "../openapi/command-line.ts";

const root = resolve(import.meta.dirname, "../..");

/** The SPDX identifiers of the licences that a package of the product may have. */
const allowed: ReadonlySet<string> = new Set([
  "MIT",
  "MIT-0",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "0BSD",
]);

/**
 * The packages with another licence that were checked by hand, each with the reason: npm cannot read the licence, or
 * the product keeps the licence's further terms.
 */
const checkedByHand: Readonly<Record<string, string>> = {
  "@expo-google-fonts/noto-sans":
    "The font has the licence OFL-1.1. This licence allows embedding the font in documents.",
  "png-js": "Its file LICENSE is the MIT licence.",
};

const License = z.union([
  z.object({ license: z.object({ id: z.string().optional(), name: z.string().optional() }) }),
  z.object({ expression: z.string() }),
]);

/** The parts of a CycloneDX document that this code reads. */
const Sbom = z.looseObject({
  specVersion: z.string(),
  components: z.array(
    z.looseObject({
      name: z.string(),
      version: z.string(),
      licenses: z.array(License).optional(),
      properties: z.array(z.object({ name: z.string() })).optional(),
    }),
  ),
});
export type Sbom = z.infer<typeof Sbom>;

/** npm's marks of packages that are not listed: packages for development, and this project's own package. */
const leftOut: ReadonlySet<string> = new Set(["cdx:npm:package:development", "cdx:npm:package:private"]);

const isLeftOut = (properties: readonly { name: string }[] = []): boolean =>
  properties.some(({ name }) => leftOut.has(name));

/**
 * Lists the packages of the product, from the lock file, in the form of CycloneDX 1.5. Leaves packages for development
 * out.
 */
export async function readSbom(): Promise<Sbom> {
  const args = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"];
  const npm = process.env["npm_execpath"];
  const [command = "npm", ...first] = npm === undefined ? ["npm"] : [process.execPath, npm];
  const { stdout } = await promisify(execFile)(command, [...first, ...args], { cwd: root, maxBuffer: 2 ** 26 });
  const sbom = Sbom.parse(JSON.parse(stdout));
  // The list is not made with npm's own option --omit=dev. This option also leaves out a package of the product, if
  // development uses another version of the package.
  return { ...sbom, components: sbom.components.filter(({ properties }) => !isLeftOut(properties)) };
}

/**
 * Whether an SPDX expression is allowed. In an expression with OR, one allowed licence is enough. An expression with
 * AND or WITH is not allowed.
 */
function isAllowedExpression(text: string): boolean {
  if (/ (?:AND|WITH) /.test(text)) return false;
  const choices = text.replaceAll(/[()]/g, "").split(" OR ");
  return choices.some((choice) => allowed.has(choice));
}

/** Whether a component was checked by hand, or has licences that are all allowed. */
function isAllowed({ name, licenses = [] }: Sbom["components"][number]): boolean {
  if (Object.hasOwn(checkedByHand, name)) return true;
  const texts = licenses.map((one) => ("expression" in one ? one.expression : (one.license.id ?? "unknown")));
  return texts.length > 0 && texts.every(isAllowedExpression);
}

/** The components whose licence is not allowed or not known, each as `name@version`. */
export const withRefusedLicence = ({ components }: Sbom): string[] =>
  components.filter((component) => !isAllowed(component)).map(({ name, version }) => `${name}@${version}`);

if (import.meta.main) {
  readWords(
    "Usage: npm run sbom\n\nWrites the bill of materials (CycloneDX) to dist/sbom.json, and checks the licences.",
  );
  const sbom = await readSbom();
  const file = resolve(root, "dist/sbom.json");
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(sbom, null, 2)}\n`);
  process.stdout.write(`${file}: ${sbom.components.length} components\n`);
  const refused = withRefusedLicence(sbom);
  for (const one of refused) process.stderr.write(`${one} has no licence that infra/lock-file/sbom.ts allows.\n`);
  process.exitCode = refused.length === 0 ? 0 : 1;
}
