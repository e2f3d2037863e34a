import { AsyncLocalStorage } from "node:async_hooks";

import type { Input, Output } from "../../shared/table/operations.ts";
import type { Key } from "../../shared/table/writes.ts";
import { inAnotherProcess } from "./another-process.ts";
import { hookCalls, type TableCall } from "./table-calls.ts";

type Step = () => Promise<unknown>;
/** The items that a step waits for. A query counts by the first key of its range. */
type Which = (key: Key) => boolean;
type Waiting = { which: Which; step: Step; isTorn: boolean; left: number };

const waitings = new AsyncLocalStorage<Waiting>();
let isInstalled = false;

/** The keys that a call reads. A single write also reads its item. A transaction counts as no read. */
function keysOf({ operation, input }: TableCall): Key[] {
  if (operation === "BatchGetItem") {
    return Object.values(input.RequestItems ?? {}).flatMap(({ Keys = [] }) => Keys as Key[]);
  }
  if (operation === "GetItem" || operation === "UpdateItem") return [input.Key as Key];
  if (operation === "PutItem") return [input.Item as Key];
  if (operation !== "Query") return [];
  const { ":partition": PK, ":from": SK } = input.ExpressionAttributeValues ?? {};
  return [{ PK, SK }];
}

type Batch = Input<"BatchGetItem">;

/**
 * Reads one batch in two parts. The items that the step waits for are read before the step, and the others after it.
 */
async function readTorn(input: Batch, { which, step }: Waiting, read: (part: Batch) => Promise<unknown>) {
  const part = (isFirst: boolean): Batch => {
    const wanted = Object.entries(input.RequestItems ?? {}).map(([name, { Keys = [], ...rest }]) => {
      return [name, { ...rest, Keys: Keys.filter((key) => which(key as Key) === isFirst) }];
    });
    return { ...input, RequestItems: Object.fromEntries(wanted) };
  };
  const first = (await read(part(true))) as Output<"BatchGetItem">;
  await waitings.exit(() => inAnotherProcess(step));
  const second = (await read(part(false))) as Output<"BatchGetItem">;
  const names = Object.keys(input.RequestItems ?? {});
  const both = names.map((name) => [name, [first, second].flatMap(({ Responses }) => Responses?.[name] ?? [])]);
  return { ...second, Responses: Object.fromEntries(both) };
}

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  hookCalls(async (call, next) => {
    const waiting = waitings.getStore();
    const keys = waiting && waiting.left > 0 ? keysOf(call) : [];
    if (!waiting || !keys.some(waiting.which)) return next();
    const { operation, input } = call;
    const isMixedBatch = operation === "BatchGetItem" && keys.some((key) => !waiting.which(key));
    if (waiting.isTorn && !isMixedBatch) return next();
    waiting.left -= 1;
    if (waiting.left > 0) return next();
    if (waiting.isTorn && operation === "BatchGetItem") {
      return readTorn(input, waiting, (part) => next({ operation, input: part }));
    }
    // The step runs also after a write whose condition failed, because that write has read the item.
    const [answer] = await Promise.allSettled([next()]);
    await waitings.exit(() => inAnotherProcess(waiting.step));
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  });
}

async function through<T>(waiting: Waiting, run: () => Promise<T>): Promise<T> {
  install();
  const value = await waitings.run(waiting, run);
  if (waiting.left > 0) throw new Error("nothing was read that the step waited for");
  return value;
}

/**
 * Runs `run`, and runs `step` right after the first (or n-th) call of the table that reads an item of `which`. So the
 * item can change between the read and the write. A transaction does not count, but a single conditional write counts.
 * Throws if there was no such call.
 */
export const afterReading = <T>(which: Which, step: Step, run: () => Promise<T>, nth = 1): Promise<T> =>
  through({ which, step, isTorn: false, left: nth }, run);

/**
 * Runs `run`, and runs `step` in the middle of the first batch that reads items of `which` and other items. The items
 * of `which` are read before the step, and the others after it. Throws if there was no such batch.
 */
export const inTornBatch = <T>(which: Which, step: Step, run: () => Promise<T>): Promise<T> =>
  through({ which, step, isTorn: true, left: 1 }, run);
