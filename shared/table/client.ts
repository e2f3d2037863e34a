import { failureOf } from "./failures.ts";
import { openLane, type Lane } from "./lane.ts";
import { newLocks, type Locks } from "./locks.ts";
import type { Input, TableOperation, Output, Send } from "./operations.ts";

/**
 * The client of the table. The client first sends each operation through the lane: our own small client (lane.ts),
 * which takes less processor time than the AWS SDK. If the lane returns neither an output nor an error, the client
 * sends the operation through the SDK. So the SDK handles clock skew, retries, credentials that are not in the
 * environment, and all errors that the lane does not return. The lane repeats a request only if the service has closed
 * the connection.
 */
export class TableClient {
  readonly #options: { endpoint?: string };
  readonly #locks = newLocks();
  #lane: Lane | undefined;
  #sdk: Promise<Send> | undefined;

  /**
   * `endpoint` overrides the endpoint in the environment. `TABLE_LANE=sdk` in the environment sends everything through
   * the SDK.
   */
  constructor(options: { endpoint?: string } = {}) {
    this.#options = options;
  }

  /** The locks of items that transactions of this client write. */
  get locks(): Locks {
    return this.#locks;
  }

  /**
   * Sends one operation. Throws errors with the names and members of the AWS SDK's errors. The lane and the SDK may
   * both send the operation. So a transaction needs a `ClientRequestToken`, by which DynamoDB commits it only once.
   */
  async send<O extends TableOperation>(operation: O, input: Input<O>): Promise<Output<O>> {
    this.#lane ??= openLane(process.env, this.#options.endpoint);
    const answer = await this.#lane(operation, input);
    if (!answer) return this.sendBySdk(operation, input);
    if ("error" in answer) throw answer.error;
    return answer.output;
  }

  /**
   * Opens a connection of the lane, so that the next operation does not have to open one. For this, reads a key that no
   * item has. The partition key begins with `ACCOUNT#`, because every IAM role that limits the keys allows this prefix.
   * Does nothing if the lane cannot be used.
   */
  async connect(table: string): Promise<void> {
    this.#lane ??= openLane(process.env, this.#options.endpoint);
    await this.#lane("GetItem", { TableName: table, Key: { PK: "ACCOUNT#", SK: "NONE" } });
  }

  /** Sends one operation through the AWS SDK. */
  async sendBySdk<O extends TableOperation>(operation: O, input: Input<O>): Promise<Output<O>> {
    this.#sdk ??= import("./sdk.ts").then(({ sdkSender }) => sdkSender(this.#options));
    const send = await this.#sdk;
    return send(operation, input);
  }
}

/** The cost of the calls through one opened table: DynamoDB capacity units, and the number of calls. */
export type Usage = { readUnits: number; writeUnits: number; calls: number };

/** An opened table. A transaction that meets contention is tried again for `limitMs` milliseconds. */
export type Connection = { client: TableClient; name: string; usage: Usage; limitMs: number };

type Capacity = { CapacityUnits?: number | undefined };

/**
 * Makes one call, and adds its cost to `usage`. A call that fails adds only to `calls`, and its error is translated by
 * `failureOf`.
 */
export async function roundTrip<T extends { ConsumedCapacity?: Capacity | Capacity[] | undefined }>(
  { usage }: Connection,
  kind: "readUnits" | "writeUnits",
  send: () => Promise<T>,
): Promise<T> {
  usage.calls += 1;
  try {
    const answer = await send();
    for (const { CapacityUnits = 0 } of [answer.ConsumedCapacity ?? []].flat()) usage[kind] += CapacityUnits;
    return answer;
  } catch (error) {
    throw failureOf(error);
  }
}
