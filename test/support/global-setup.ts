import { randomInt } from "node:crypto";

import { cliFolder, generateCli } from "../../infra/cli/generate.ts";
import { clientFolder, generateClient, readApi } from "../../infra/client/generate.ts";
import { startSurroundings } from "./surroundings.ts";

/** One engine and one table for the whole run; every test makes its own account in it. */
export default async function setup(): Promise<() => Promise<void>> {
  process.env["TEST_SEED"] ??= String(randomInt(1_000_000));
  const api = readApi();
  await generateClient(clientFolder, api);
  await generateCli(cliFolder, api);
  return startSurroundings();
}
