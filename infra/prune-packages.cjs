// npm runs this after an installation. It deletes what nothing here reads from the installed packages: the headers of
// Node's C++ interface, the descriptions of the CDK for other languages, source maps, and encodings of a tokenizer.
//
// It also lets cmd.exe understand `exec`, which hands a signal to npm start on to the product in every other shell.
const { readdirSync, rmSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");

const packages = join(__dirname, "../node_modules");

for (const path of [
  `node/node_modules/node-${process.platform}-${process.arch}/include`,
  `node/node_modules/node-${process.platform}-${process.arch}/share`,
  "gpt-tokenizer/cjs",
  "gpt-tokenizer/data",
  "gpt-tokenizer/src",
]) {
  rmSync(join(packages, path), { recursive: true, force: true });
}

/** Deletes the source maps in a folder and the folders below it. */
function deleteSourceMaps(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) deleteSourceMaps(path);
    else if (/\.(?:js|mjs|cjs|ts|mts|cts|css)\.map$/.test(entry.name)) rmSync(path);
  }
}
deleteSourceMaps(packages);
if (process.platform === "win32") writeFileSync(join(packages, ".bin/exec.cmd"), "@%*\r\n");
