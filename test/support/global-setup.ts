import { randomInt } from "node:crypto";

import { cliFolder, generateCli } from "../../infra/cli/generate.ts";
import { clientFolder, generateClient, readApi } from "../../infra/client/generate.ts";
import { startSurroundings } from "./surroundings.ts";

/** Starts one engine with one table for the whole run. Every test makes its own account in the table. */
export default async function setup(): Promise<() => Promise<void>> {
  process.env["TEST_SEED"] ??= String(randomInt(1_000_000));
  const api = readApi();
  await generateClient(clientFolder, api);
  await generateCli(cliFolder, api);
  return startSurroundings();
}
