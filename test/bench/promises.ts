import { randomUUID } from "node:crypto";

import { route as addRoute } from "../../functions/workspaces/add.ts";
import { route as getRoute } from "../../functions/workspaces/get.ts";
import { etagOf } from "../../shared/core/etag.ts";
import { invoke, type InvocationContext } from "../../shared/http/invoke.ts";
import { charge, newLimiterMemory } from "../../shared/rate-limits/limiter.ts";
import { newAccount } from "../support/world.ts";
import { inTurns, mapValues, median, sum, type Options, type Result } from "./harness.ts";
import { newScene } from "./scene.ts";

type Scene = Awaited<ReturnType<typeof newScene>>;

/**
 * Measures the cost of each promise of the route core for a GET and a POST: microseconds, table units and calls of
 * the table.
 */
export async function run({ quick }: Options): Promise<Result> {
  const scene = await newScene(await newAccount());
  const variants = await variantsOf(scene);
  const rounds = quick ? 30 : 300;
  const samples = await inTurns(
    rounds,
    mapValues(variants, (run) => (index: number) => scene.measure(() => run(index))),
  );
  const figures = Object.entries(samples).flatMap(([name, own]) => {
    const mean = (of: "readUnits" | "writeUnits" | "calls") => sum(own.map((one) => one[of])) / rounds;
    return [
      { name: `${name}: median`, value: 1000 * median(own.map(({ ms }) => ms)), unit: "µs" },
      { name: `${name}: reads`, value: mean("readUnits"), unit: "read units" },
      { name: `${name}: writes`, value: mean("writeUnits"), unit: "write units" },
      { name: `${name}: calls of the table`, value: mean("calls"), unit: "calls" },
    ];
  });
  return { figures };
}

/**
 * A context whose caller sends one request every `everyMs` milliseconds by the limiter's clock. This is five requests a
 * second, or two a minute.
 */
function limited({ table, context }: Scene, everyMs: 200 | 30_000): InvocationContext {
  const memory = newLimiterMemory();
  const principalId = randomUUID();
  let at = Date.now();
  return {
    ...context,
    charge: async (what) => {
      at += everyMs;
      await charge({ ...what, principalId }, { table, memory, log: context.log, now: () => new Date(at) });
    },
  };
}

async function variantsOf(scene: Scene): Promise<Record<string, (index: number) => Promise<unknown>>> {
  const { accountId: account_id, context, plain } = scene;
  const params = { account_id };
  const add = (name: string, way = context, headers = {}) =>
    invoke(addRoute, { params, query: {}, body: { name }, headers }, way);
  const { id: workspace_id } = (await add("First")).output as { id: string };
  const get = (way: InvocationContext) =>
    invoke(getRoute, { params: { account_id, workspace_id }, query: {}, body: {} }, way);
  const [steady, sparse, adding] = [limited(scene, 200), limited(scene, 30_000), limited(scene, 200)];
  const keyed = (index: number) => add(`keyed ${index}`, context, { "idempotency-key": `k${index}` });
  return {
    "GET without promises": () => get(context),
    "GET rate limit, 5 a second": () => get(steady),
    "GET rate limit, 2 a minute": () => get(sparse),
    "GET entity tag": async () => etagOf((await get(context)).output),
    "POST the effect alone, unauthorized": (index) =>
      addRoute.run({ params, query: {}, body: { name: `bare ${index}` }, found: undefined }, plain),
    "POST authorized and recorded (audit and event)": (index) => add(`recorded ${index}`),
    "POST recorded, with an Idempotency-Key": keyed,
    "POST the same again, replayed": keyed,
    "POST recorded, rate limited at 5 a second": (index) => add(`limited ${index}`, adding),
  };
}
