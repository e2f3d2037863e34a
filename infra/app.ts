import { bundleDir, bundleProduct } from "./build/bundle.ts";
import { lambdas, workers } from "./entry-points.ts";

// esbuild is written in Go, and spends a third of its time on freeing memory that the end of its process frees anyway:
// it takes 2.6 GB without, and 2.4 GB with GOGC at 400.
process.env["GOGC"] ??= "off";
process.env["GOMEMLIMIT"] ??= "3GiB";

// esbuild is a process of its own: the CDK, which takes as long to load as some of its work, is loaded meanwhile.
const bundled = bundleProduct();
const [{ addStack, createApp }, { readStage }, { BadConfig }] = await Promise.all([
  import("./stack.ts"),
  import("./config/stages.ts"),
  import("./config/config.ts"),
]);
const app = createApp(process.env["CDK_OUTDIR"] ?? "cdk.out");
try {
  const config = await readStage((key) => app.node.tryGetContext(key), process.env);
  await bundled;
  const stack = addStack(app, { lambdas, workers }, bundleDir, config);
  app.synth();
  // The CDK CLI says what it does itself.
  if (process.env["CDK_OUTDIR"] === undefined)
    process.stdout.write(`${app.outdir}: the templates of ${stack.stackName}\n`);
  if (config.isNobodys)
    process.stderr.write("There are no issuers in the stage's file: as it is, every token is refused.\n");
} catch (error) {
  if (!(error instanceof BadConfig)) throw error;
  await bundled;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
