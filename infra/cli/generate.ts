import { chmod, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { build } from "esbuild";

import {
  type Api,
  clientFolder,
  generateClient,
  productVersion,
  readApi,
  sourceHashFile,
  writePackage,
  writeSources,
} from "../client/generate.ts";
import { readWords } from "../openapi/command-line.ts";
import { commandsSource } from "./emit.ts";

const root = resolve(import.meta.dirname, "../..");
const source = join(import.meta.dirname, "package");

/** The folder to which `npm run client` writes the package of the command. */
export const cliFolder = join(root, "dist/cli");

/** The npm packages in the bundled program. Their licences are copied into the package. */
const bundled = ["commander", "csv-parse", "csv-stringify"];

const manifest = (version: string): object => ({
  name: "@hosted-mail/cli",
  version,
  description: "The command for customers of the Hosted Mail API",
  license: "MIT",
  keywords: ["email", "mailboxes", "dns", "domains", "cli"],
  type: "commonjs",
  engines: { node: ">=20" },
  bin: { "hosted-mail": "hosted-mail.cjs" },
  files: ["hosted-mail.cjs", "LICENSES.txt"],
  publishConfig: { access: "public" },
});

async function writeLicenses(folder: string): Promise<void> {
  const texts = bundled.map(
    async (name) => `${name}\n\n${await readFile(join(root, "node_modules", name, "LICENSE"), "utf8")}`,
  );
  await writeFile(join(folder, "LICENSES.txt"), (await Promise.all(texts)).join("\n\n"));
}

async function writeProgram(folder: string, version: string): Promise<void> {
  const outfile = join(folder, "hosted-mail.cjs");
  await build({
    entryPoints: [join(source, "main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    charset: "utf8",
    legalComments: "none",
    define: { CLI_VERSION: JSON.stringify(version) },
    banner: { js: "#!/usr/bin/env node" },
    tsconfigRaw: {},
  });
  await chmod(outfile, 0o755);
}

/**
 * Generates the source file of the CLI's commands, beside the other sources of the CLI. Then writes the package of the
 * CLI into `folder`, and replaces the whole folder. If `folder` already has a package of the same sources, leaves
 * `folder` unchanged and returns false. Call `generateClient` first.
 */
export async function generateCli(folder: string, { document, isPayload }: Api): Promise<boolean> {
  const version = await productVersion();
  const commands = commandsSource(document, isPayload);
  await writeSources(join(source, "generated"), { "commands.ts": commands });
  const inputs = [commands, await readFile(import.meta.filename), await readFile(join(clientFolder, sourceHashFile))];
  return writePackage(folder, { manifest: manifest(version), source, inputs }, async (staging) => {
    await writeProgram(staging, version);
    await writeLicenses(staging);
  });
}

if (import.meta.main) {
  readWords(
    "Usage: npm run client\n\nWrites the TypeScript client to dist/client, and the command for customers to dist/cli.",
  );
  const api = readApi();
  for (const [folder, isNew] of [
    [clientFolder, await generateClient(clientFolder, api)],
    [cliFolder, await generateCli(cliFolder, api)],
  ] as const) {
    process.stdout.write(`${folder}${isNew ? "" : " (unchanged)"}\n`);
  }
}
