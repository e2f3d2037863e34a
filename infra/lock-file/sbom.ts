import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";

import * as z from "zod";

import { readWords } from "../openapi/command-line.ts";

const root = resolve(import.meta.dirname, "../..");

/** Licences under which a package may be a part of the product, by their SPDX identifiers. */
const allowed: ReadonlySet<string> = new Set([
  "MIT",
  "MIT-0",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "0BSD",
]);

/** Packages whose licence npm does not read, or whose licence has further terms that the product keeps, with the reason. */
const checkedByHand: Readonly<Record<string, string>> = {
  "@expo-google-fonts/noto-sans": "The font is under OFL-1.1, which allows to embed it in documents.",
  "png-js": "Its file LICENSE is the MIT licence.",
};

const License = z.union([
  z.object({ license: z.object({ id: z.string().optional(), name: z.string().optional() }) }),
  z.object({ expression: z.string() }),
]);

/** The parts of a CycloneDX document that are read here. */
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

/** Marks of npm for packages that are not a part of the product: for development only, or ours. */
const leftOut: ReadonlySet<string> = new Set(["cdx:npm:package:development", "cdx:npm:package:private"]);

const isLeftOut = (properties: readonly { name: string }[] = []): boolean =>
  properties.some(({ name }) => leftOut.has(name));

/**
 * Lists the packages of the product, from the lock file, in the form of CycloneDX 1.5. Packages for development are
 * left out.
 */
export async function readSbom(): Promise<Sbom> {
  const args = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"];
  const npm = process.env["npm_execpath"];
  const [command = "npm", ...first] = npm === undefined ? ["npm"] : [process.execPath, npm];
  const { stdout } = await promisify(execFile)(command, [...first, ...args], { cwd: root, maxBuffer: 2 ** 26 });
  const sbom = Sbom.parse(JSON.parse(stdout));
  // npm's own --omit=dev also leaves out a package of the product if development uses another version of the package.
  return { ...sbom, components: sbom.components.filter(({ properties }) => !isLeftOut(properties)) };
}

/** Tells whether all licences of a component are allowed. In an expression with OR, one allowed licence is enough. */
function isAllowed({ name, licenses = [] }: Sbom["components"][number]): boolean {
  if (name in checkedByHand) return true;
  const texts = licenses.map((one) => ("expression" in one ? one.expression : (one.license.id ?? "unknown")));
  return (
    texts.length > 0 &&
    texts.every((text) =>
      text
        .replaceAll(/[()]/g, "")
        .split(" OR ")
        .some((choice) => allowed.has(choice)),
    )
  );
}

/** The components whose licence is not allowed or not known, each as `name@version`. */
export const withoutLicence = ({ components }: Sbom): string[] =>
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
  const refused = withoutLicence(sbom);
  for (const one of refused) process.stderr.write(`${one} has no licence of the list in infra/lock-file/sbom.ts.\n`);
  process.exitCode = refused.length === 0 ? 0 : 1;
}
