import { bundleDir, bundleProduct } from "../build/bundle.ts";
import { lambdas, workers } from "../entry-points.ts";

// esbuild is written in Go, and by default spends a third of its time on freeing memory. This work is not necessary,
// because all memory is freed when esbuild's process ends. With GOGC off, esbuild frees memory only near the limit
// GOMEMLIMIT. The bundles need 2.6 GB, which is below GOMEMLIMIT. With GOGC at 400, they would need 2.4 GB.
process.env["GOGC"] ??= "off";
process.env["GOMEMLIMIT"] ??= "3GiB";

// esbuild runs in its own process, so the CDK, which is slow to load, is loaded in the meantime.
const bundling = bundleProduct();
const [{ addStack, createApp }, { readStage }, { BadConfig }, { featureWarnings }] = await Promise.all([
  import("./stack.ts"),
  import("../config/stages.ts"),
  import("../config/config.ts"),
  import("../config/features.ts"),
]);
const app = createApp(process.env["CDK_OUTDIR"] ?? "cdk.out");
try {
  const config = await readStage((key) => app.node.tryGetContext(key), process.env);
  await bundling;
  const stack = addStack(app, { lambdas, workers }, bundleDir, config);
  app.synth();
  // The CDK CLI sets CDK_OUTDIR, and also prints the folder. So this line is only for a start without the CDK CLI.
  if (process.env["CDK_OUTDIR"] === undefined)
    process.stdout.write(`${app.outdir}: the templates of ${stack.stackName}\n`);
  for (const line of featureWarnings(config)) process.stderr.write(`${line}\n`);
} catch (error) {
  if (!(error instanceof BadConfig)) throw error;
  await bundling;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
