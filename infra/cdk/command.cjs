// Runs the CDK's command in the project's root: `npm run cdk -- diff --all -c stage=prod`.
require("./install.cjs");

if (!process.exitCode) require("aws-cdk/bin/cdk");
