import { randomInt } from "node:crypto";

import { cliFolder, generateCli } from "../../infra/cli/generate.ts";
import { clientFolder, generateClient, readApi } from "../../infra/client/generate.ts";
import { startSurroundings } from "./surroundings.ts";

/**
 * Prepares the whole run: chooses the seed, generates the client and the command, and starts one engine with one table.
 * Every test makes its own account in the table.
 */
export default async function setup(): Promise<() => Promise<void>> {
  process.env["TEST_SEED"] ??= String(randomInt(1_000_000));
  const api = readApi();
  await generateClient(clientFolder, api);
  await generateCli(cliFolder, api);
  return startSurroundings();
}
