import { ensureTable, startEngine } from "../../infra/local/table/engine.ts";

/** Runs a measurement on an engine of its own, with an empty table `bench` where the SDK finds it. */
export async function onOwnEngine<T>(measure: () => Promise<T>): Promise<T> {
  const engine = await startEngine();
  try {
    Object.assign(process.env, {
      AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint,
      AWS_REGION: "local",
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
    });
    await ensureTable(engine.endpoint, "bench");
    return await measure();
  } finally {
    await engine.stop();
  }
}
