// Loaded before anything of TypeScript, and by whatever Node there is: it says in words what would else be a stack.
const least = 24;
if (Number(process.versions.node.split(".")[0]) < least) {
  process.stderr.write(
    `\nThis needs Node ${least}, which "npm ci" installs. This is Node ${process.versions.node} (${process.execPath}).\n` +
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
