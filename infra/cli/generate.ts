import { createHash } from "node:crypto";
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { build } from "esbuild";

import { type Api, clientFolder, generateClient, readApi, writeSources } from "../client/generate.ts";
import { readWords } from "../openapi/command-line.ts";
import { commandsSource } from "./emit.ts";

const root = resolve(import.meta.dirname, "../..");
const source = join(import.meta.dirname, "package");

/** The folder to which `npm run client` writes the package of the command. */
export const cliFolder = join(root, "dist/cli");

const stamp = "generated-from.txt";

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

/** A hash of all sources of the package. Equal hashes mean equal packages. */
async function sourceHash(commands: string, version: string): Promise<string> {
  const hash = createHash("sha256").update(commands).update(version);
  hash.update(await readFile(import.meta.filename)).update(await readFile(join(root, "package-lock.json")));
  hash.update(await readFile(join(clientFolder, stamp)));
  for (const entry of (await readdir(source, { withFileTypes: true })).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.isFile()) hash.update(entry.name).update(await readFile(join(source, entry.name)));
  }
  return hash.digest("hex");
}

async function writeLicenses(folder: string): Promise<void> {
  const texts = bundled.map(
    async (name) => `${name}\n\n${await readFile(join(root, "node_modules", name, "LICENSE"), "utf8")}`,
  );
  await writeFile(join(folder, "LICENSES.txt"), (await Promise.all(texts)).join("\n\n"));
}

/**
 * Writes the package of the command into `folder`, and replaces the whole folder. Changes nothing and returns false if
 * `folder` already has a package of the same sources. Call `generateClient` first.
 */
export async function generateCli(folder: string, { document, isPayload }: Api): Promise<boolean> {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  const commands = commandsSource(document, isPayload);
  await writeSources(join(source, "generated"), { "commands.ts": commands });
  const hash = await sourceHash(commands, version);
  if ((await readFile(join(folder, stamp), "utf8").catch(() => "")) === hash) return false;
  await mkdir(dirname(folder), { recursive: true });
  const staging = await mkdtemp(`${folder}-`);
  try {
    await build({
      entryPoints: [join(source, "main.ts")],
      outfile: join(staging, "hosted-mail.cjs"),
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
    await chmod(join(staging, "hosted-mail.cjs"), 0o755);
    await writeFile(join(staging, "package.json"), `${JSON.stringify(manifest(version), null, 2)}\n`);
    await writeLicenses(staging);
    await cp(join(source, "README.md"), join(staging, "README.md"));
    await cp(join(root, "LICENSE"), join(staging, "LICENSE"));
    await writeFile(join(staging, stamp), hash);
    await chmod(staging, 0o755);
    await rm(folder, { recursive: true, force: true });
    await rename(staging, folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return true;
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
