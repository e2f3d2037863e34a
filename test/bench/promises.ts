import { randomUUID } from "node:crypto";

import { route as addRoute } from "../../functions/workspaces/add.ts";
import { route as getRoute } from "../../functions/workspaces/get.ts";
import { etagOf } from "../../shared/core/etag.ts";
import { invoke, type InvocationContext } from "../../shared/http/invoke.ts";
import { charge, newLimiterMemory } from "../../shared/rate-limits/limiter.ts";
import { newAccount } from "../support/world.ts";
import { inTurns, median, type Figure, type Result } from "./harness.ts";
import { newScene } from "./scene.ts";

const rounds = 300;

type Scene = Awaited<ReturnType<typeof newScene>>;
type Variants = Record<string, (index: number) => Promise<unknown>>;

/** What each promise of the route core adds to a GET and a POST: microseconds, table units and round trips. */
export async function run(): Promise<Result> {
  const scene = await newScene(await newAccount());
  return { figures: [...(await compare(scene, await gets(scene))), ...(await compare(scene, posts(scene)))] };
}

/** A door whose caller sends a request every `everyMs`, by the limiter's clock: five a second, or two a minute. */
function limited({ table, door }: Scene, everyMs: 200 | 30_000): InvocationContext {
  const memory = newLimiterMemory();
  const principalId = randomUUID();
  let at = Date.now();
  return {
    ...door,
    charge: async (what) => {
      at += everyMs;
      await charge({ ...what, principalId }, { table, memory, log: door.log, now: () => new Date(at) });
    },
  };
}

const bodyOf = (name: string, headers = {}) => ({ query: {}, body: { name }, headers });

async function gets(scene: Scene): Promise<Variants> {
  const { accountId: account_id, door } = scene;
  const { output } = await invoke(addRoute, { params: { account_id }, ...bodyOf("First") }, door);
  const { id: workspace_id } = output as { id: string };
  const input = { params: { account_id, workspace_id }, query: {}, body: {} };
  const [steady, sparse] = [limited(scene, 200), limited(scene, 30_000)];
  return {
    "GET without promises": () => invoke(getRoute, input, door),
    "GET rate limit, 5 a second": () => invoke(getRoute, input, steady),
    "GET rate limit, 2 a minute": () => invoke(getRoute, input, sparse),
    "GET entity tag": async () => etagOf((await invoke(getRoute, input, door)).output),
  };
}

function posts(scene: Scene): Variants {
  const { accountId, door, plain } = scene;
  const params = { account_id: accountId };
  const steady = limited(scene, 200);
  const add = (name: string, way: InvocationContext, headers = {}) =>
    invoke(addRoute, { params, ...bodyOf(name, headers) }, way);
  const keyed = (index: number) => add(`keyed ${index}`, door, { "idempotency-key": `k${index}` });
  return {
    "POST the effect alone, unauthorized": (index) =>
      addRoute.run({ params, ...bodyOf(`bare ${index}`), found: undefined }, plain),
    "POST authorized and recorded (audit and event)": (index) => add(`recorded ${index}`, door),
    "POST recorded, with an Idempotency-Key": keyed,
    "POST the same again, replayed": keyed,
    "POST recorded, rate limited at 5 a second": (index) => add(`limited ${index}`, steady),
  };
}

async function compare({ measure }: Scene, variants: Variants): Promise<Figure[]> {
  const runs = Object.values(variants).map((run) => (index: number) => measure(() => run(index)));
  const samples = await inTurns(rounds, runs);
  return Object.keys(variants).flatMap((name, place) => {
    const own = samples[place] ?? [];
    const mean = (of: "readUnits" | "writeUnits" | "calls") => own.reduce((sum, one) => sum + one[of], 0) / rounds;
    return [
      { name: `${name}: median`, value: 1000 * median(own.map(({ ms }) => ms)), unit: "µs" },
      { name: `${name}: reads`, value: mean("readUnits"), unit: "read units" },
      { name: `${name}: writes`, value: mean("writeUnits"), unit: "write units" },
      { name: `${name}: round trips`, value: mean("calls"), unit: "calls" },
    ];
  });
}
