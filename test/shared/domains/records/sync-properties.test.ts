import fc from "fast-check";
import { expect, test } from "vitest";

import type { Dns } from "../../../../shared/providers/dns/dns.ts";
import { many, newScene, silence, type Scene } from "./scene.ts";

type Change = { do: "add" | "remove"; name: string; type: "A" | "CNAME" } | { do: "add many" | "remove many" };
/** What happens to a call of the provider: it is done, its answer is lost, it never arrives, or it stays pending. */
type Fate = "done" | "answer lost" | "lost" | "pending";
type Step = Change | { do: "sync"; fates: Fate[]; meanwhile: Change | undefined } | { do: "wait" };

const name = fc.constantFrom("a", "b", "c", "n001", "n150");
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom("add", "remove"), name, type: fc.constantFrom("A", "CNAME") }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("add many", "remove many") }) },
);
const fate = fc.constantFrom<Fate>("done", "done", "answer lost", "lost", "pending");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: change },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("sync"),
      fates: fc.array(fate, { maxLength: 6 }),
      meanwhile: fc.option(change, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait") }) },
);

const manyNames = many(210);

/** Makes a change, as far as it is possible: adds only missing records, and removes only existing ones. */
async function apply(scene: Scene, step: Change): Promise<void> {
  const there = new Set((await scene.records()).map((record) => record.name));
  if (step.do === "add") {
    if (!there.has(step.name)) await scene.add(addable(step));
    return;
  }
  if (step.do === "remove") {
    if (there.has(step.name)) await scene.remove(step.name);
    return;
  }
  const wanted = manyNames.filter((one) => there.has(one.name) === (step.do === "remove many"));
  for (let from = 0; from < wanted.length; from += 20) {
    const some = wanted.slice(from, from + 20);
    if (step.do === "add many") await scene.add(...some);
    else await scene.remove(...some.map((one) => one.name));
  }
}

const addable = ({ name: own, type }: { name: string; type: "A" | "CNAME" }) => ({
  name: own,
  type,
  value: type === "A" ? "192.0.2.1" : "example.net",
});

/** The provider, with the fates of its calls in order. `meanwhile` happens right before its first change. */
function weathered(scene: Scene, fates: Fate[], meanwhile: Change | undefined): Partial<Dns> {
  const left = [...fates];
  let isFirst = true;
  const call = async <T>(run: () => Promise<T>): Promise<[T, Fate]> => {
    const own = left.shift() ?? "done";
    if (own === "lost") throw silence();
    const answer = await run();
    if (own === "answer lost") throw silence();
    return [answer, own];
  };
  return {
    createZone: async (input) => (await call(() => scene.provider.createZone(input)))[0],
    changeZone: async (...args) => {
      if (isFirst && meanwhile) await apply(scene, meanwhile);
      isFirst = false;
      const [answer, own] = await call(() => scene.provider.changeZone(...args));
      return own === "pending" ? { changeId: "later", isInSync: false } : answer;
    },
    isInSync: async () => (await call(async () => true))[1] !== "pending",
  };
}

test("after random changes and failures, a last sync leaves exactly the stored records on the nameservers", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      const scene = await newScene();
      await scene.add({ name: "first" });
      for (const one of steps) {
        if (one.do === "wait") scene.wait(60_000);
        else if (one.do === "sync") await scene.sync(weathered(scene, one.fates, one.meanwhile));
        else await apply(scene, one);
        const { wanted, dirty, change: running, due_at } = await scene.zone();
        // While changes are missing on the nameservers, the zone is due.
        if (wanted && (dirty.length > 0 || running)) expect(due_at).not.toBeNull();
      }
      await scene.sync();
      const records = await scene.records();
      expect(await scene.served()).toEqual(records.map((record) => `${record.name} ${record.type}`).toSorted());
      expect(await scene.zone()).toMatchObject({ dirty: [], due_at: null, lease_until: "" });
    }),
    { numRuns: 40 },
  );
});
