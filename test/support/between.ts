import { AsyncLocalStorage } from "node:async_hooks";

import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
  type BatchGetCommandOutput,
} from "@aws-sdk/lib-dynamodb";

import type { Key } from "../../shared/table/writes.ts";

type Step = () => Promise<unknown>;
/** Which items a step waits for; of a query, the first key of its range counts. */
type Which = (key: Key) => boolean;
type Waiting = { which: Which; step: Step; isTorn: boolean; left: number };
type Send = (this: DynamoDBDocumentClient, command: unknown) => Promise<unknown>;

const waitings = new AsyncLocalStorage<Waiting>();
let isInstalled = false;

/** The keys that a call asks for; a transaction asks for none, as what it says is not what was read. */
function keysOf(command: unknown): Key[] {
  if (command instanceof BatchGetCommand) {
    return Object.values(command.input.RequestItems ?? {}).flatMap(({ Keys = [] }) => Keys as Key[]);
  }
  if (command instanceof GetCommand || command instanceof UpdateCommand) return [command.input.Key as Key];
  if (command instanceof PutCommand) return [command.input.Item as Key];
  if (!(command instanceof QueryCommand)) return [];
  const { ":partition": PK, ":from": SK } = command.input.ExpressionAttributeValues ?? {};
  return [{ PK, SK }];
}

/** One batch of reads as two: the items that a step waits for are of the moment before it, the others of the one after. */
async function readTorn(command: BatchGetCommand, { which, step }: Waiting, send: (part: BatchGetCommand) => unknown) {
  const part = (isFirst: boolean): BatchGetCommand => {
    const wanted = Object.entries(command.input.RequestItems ?? {}).map(([name, { Keys = [], ...rest }]) => {
      return [name, { ...rest, Keys: Keys.filter((key) => which(key as Key) === isFirst) }];
    });
    return new BatchGetCommand({ ...command.input, RequestItems: Object.fromEntries(wanted) });
  };
  const first = (await send(part(true))) as BatchGetCommandOutput;
  await waitings.exit(step);
  const second = (await send(part(false))) as BatchGetCommandOutput;
  const names = Object.keys(command.input.RequestItems ?? {});
  const both = names.map((name) => [name, [first, second].flatMap(({ Responses }) => Responses?.[name] ?? [])]);
  return { ...second, Responses: Object.fromEntries(both) };
}

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  const prototype = DynamoDBDocumentClient.prototype as unknown as { send: Send };
  const whole = prototype.send;
  prototype.send = async function send(command) {
    const waiting = waitings.getStore();
    const keys = waiting && waiting.left > 0 ? keysOf(command) : [];
    if (!waiting || !keys.some(waiting.which)) return whole.call(this, command);
    const isBatch = command instanceof BatchGetCommand && keys.some((key) => !waiting.which(key));
    if (waiting.isTorn && !isBatch) return whole.call(this, command);
    waiting.left -= 1;
    if (waiting.left > 0) return whole.call(this, command);
    if (waiting.isTorn) return readTorn(command as BatchGetCommand, waiting, (part) => whole.call(this, part));
    // Also after a write whose condition failed, which has read what is there.
    const [answer] = await Promise.allSettled([whole.call(this, command)]);
    await waitings.exit(waiting.step);
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  };
}

async function through<T>(waiting: Waiting, run: () => Promise<T>): Promise<T> {
  install();
  const value = await waitings.run(waiting, run);
  if (waiting.left > 0) throw new Error("nothing was read that the step waited for");
  return value;
}

/**
 * Runs something, and a step by somebody else right after its first call of the table that reads an item, or its n-th: by
 * the time it writes, what it has read is not so any more. Transactions do not count; a single conditional write does.
 * Throws when there was no such call.
 */
export const afterReading = <T>(which: Which, step: Step, run: () => Promise<T>, nth = 1): Promise<T> =>
  through({ which, step, isTorn: false, left: nth }, run);

/**
 * Runs something, and a step by somebody else in the middle of its first batch of reads that has such items and others:
 * `which` are read before it, and the others after it. Throws when there was no such batch.
 */
export const inTornBatch = <T>(which: Which, step: Step, run: () => Promise<T>): Promise<T> =>
  through({ which, step, isTorn: true, left: 1 }, run);
