import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { StartProblem } from "../command-line.ts";

/** The platforms that Dynoxide is published for and that can run our scripts: `package.json` has a package for each. */
const platforms = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

const ownEndpoint = `DynamoDB Local takes its place, on any system. Run it beside the product:

  with Docker:           docker run -p 127.0.0.1:8000:8000 amazon/dynamodb-local
  with Java 17 or newer: java -jar DynamoDBLocal.jar -inMemory -port 8000

"Setting up DynamoDB local" in the DynamoDB Developer Guide has the download. Then:

  AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 npm start`;

/** Why there is no executable, and what to do, in one screen. */
function noBinary(platform: string): string {
  const name = `@dynoxide/${platform}`;
  if (platform.startsWith("win32-")) {
    return "The embedded DynamoDB engine is started by /bin/sh, which Windows does not have. Use WSL2: README.md says how.";
  }
  if (!platforms.includes(platform)) {
    return `There is no embedded DynamoDB engine for ${platform}.\nThere is one for ${platforms.join(", ")}.\n\n${ownEndpoint}`;
  }
  return (
    `The embedded DynamoDB engine is not here: the package ${name} is not installed.\n\n` +
    `Run "npm ci" again on this machine, without --omit=optional. If it is still missing, your registry\n` +
    `does not have it: "npm view ${name}" tells.\n\n${ownEndpoint}`
  );
}

/** Where a package is installed. Throws where it is not. */
export type Resolve = (id: string) => string;

/** The engine's executable for this platform. Throws `StartProblem` where there is none. */
export function binaryPath(
  platform = `${process.platform}-${process.arch}`,
  resolve: Resolve = createRequire(import.meta.url).resolve,
): string {
  if (!platforms.includes(platform)) throw new StartProblem(noBinary(platform));
  try {
    return join(dirname(resolve(`@dynoxide/${platform}/package.json`)), "dynoxide");
  } catch {
    throw new StartProblem(noBinary(platform));
  }
}
