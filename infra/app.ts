import { bundleDir, bundleProduct } from "./bundle.ts";
import { lambdas } from "./lambdas.ts";
import { workers } from "./workers.ts";

// esbuild is a process of its own: the CDK, which takes as long to load as some of its work, is loaded meanwhile.
const bundled = bundleProduct();
const [{ addStack, createApp }, { readStage }] = await Promise.all([import("./stack.ts"), import("./stages.ts")]);
const app = createApp(process.env["CDK_OUTDIR"] ?? "cdk.out");
const config = await readStage((key) => app.node.tryGetContext(key), process.env);
await bundled;
addStack(app, { lambdas, workers }, bundleDir, config);
app.synth();
