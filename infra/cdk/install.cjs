// Installs the packages of the CDK app, unless its lock file is older than the last installation. Only synthesis,
// deployments, type checks and tests need these packages, so `npm ci` in the project's root does not install them.
const { spawnSync } = require("node:child_process");
const { statSync } = require("node:fs");
const { join } = require("node:path");

const changedAt = (file) => statSync(join(__dirname, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;

// npm writes this file at the end of an installation.
if (changedAt("node_modules/.package-lock.json") < changedAt("package-lock.json")) {
  process.stderr.write("Installing the packages of the CDK in infra/cdk.\n");
  const npm = process.env.npm_execpath;
  const [command, ...args] = npm ? [process.execPath, npm] : ["npm"];
  const stdio = ["ignore", "ignore", "inherit"];
  const { status } = spawnSync(command, [...args, "ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: __dirname,
    stdio,
  });
  process.exitCode = status ?? 1;
}
