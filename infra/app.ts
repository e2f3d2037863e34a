import { bundleDir, bundleProduct } from "./bundle.ts";
import { readConfig } from "./config.ts";
import { lambdas } from "./lambdas.ts";
import { addStack, createApp } from "./stack.ts";
import { workers } from "./workers.ts";

const app = createApp(process.env["CDK_OUTDIR"] ?? "cdk.out");
const config = readConfig((key) => app.node.tryGetContext(key), process.env);
await bundleProduct();
addStack(app, { lambdas, workers }, bundleDir, config);
app.synth();
