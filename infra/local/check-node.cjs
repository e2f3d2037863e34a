// This file runs before any TypeScript, and on any version of Node. So the user gets a message instead of a stack
// trace.
const requiredMajor = 24;
if (Number(process.versions.node.split(".")[0]) < requiredMajor) {
  process.stderr.write(
    `\nThe product needs Node ${requiredMajor}, which "npm ci" installs. This is Node ${process.versions.node} (${process.execPath}).\n` +
      'Run "npm ci" with its install scripts and development packages, then "npm start".\n\n',
  );
  process.exit(1);
}
try {
  require.resolve("zod");
} catch {
  process.stderr.write('\nThe packages are not installed. Run "npm ci" first.\n\n');
  process.exit(1);
}
