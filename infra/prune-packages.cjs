// npm runs this script after an installation. It deletes unused files of the installed packages: the headers of Node's
// C++ interface, source maps, and encodings of a tokenizer.
//
// The script also makes the command `exec` work in cmd.exe. In every other shell, `exec` makes a signal to `npm start`
// reach the product.
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
