import { startEngine } from "../../infra/local/table/engine.ts";
import { isExhaustive } from "./sample.ts";
import { openTableAt } from "./table-at.ts";

let ready: Promise<void> | undefined;

/**
 * Gives this process an engine and name servers of its own, once: tests of other processes do not meet in the lists of
 * all accounts, nor wait for one another.
 */
export const useOwnTable = (): Promise<void> => (ready ??= prepare());

async function prepare(): Promise<void> {
  // The engine takes a quarter less processor time where its requests do not go from thread to thread.
  process.env["TOKIO_WORKER_THREADS"] = "1";
  const { endpoint } = await startEngine();
  if (isExhaustive) process.env["TABLE_LANE"] = "sdk";
  await openTableAt(endpoint, process.env["TABLE_NAME"] ?? "");
}
