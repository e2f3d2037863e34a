import { failureOf } from "./failures.ts";
import { openLane, type Lane } from "./lane.ts";
import type { Input, TableOperation, Output, Send } from "./operations.ts";

/**
 * The client of the table. It sends each operation through a lean lane first. If the lane has neither an output nor a
 * failed condition to return, it sends the operation through the AWS SDK. So the SDK alone decides about retries,
 * errors, credentials and clock skew. An operation whose answer was lost is sent again, as by the SDK's own retries.
 */
export class TableClient {
  readonly #place: { endpoint?: string };
  #lane: Lane | undefined;
  #sdk: Promise<Send> | undefined;

  /** `endpoint` overrides the environment's. `TABLE_LANE=sdk` in the environment sends everything through the SDK. */
  constructor(place: { endpoint?: string } = {}) {
    this.#place = place;
  }

  /**
   * Sends one operation. Throws the errors of the AWS SDK. A transaction needs a `ClientRequestToken`, because both ways
   * may send it.
   */
  async send<O extends TableOperation>(operation: O, input: Input<O>): Promise<Output<O>> {
    this.#lane ??= openLane(process.env, this.#place.endpoint);
    const answer = await this.#lane(operation, input);
    if (!answer) return this.sendBySdk(operation, input);
    if ("refusal" in answer) throw answer.refusal;
    return answer.output;
  }

  /** Opens a connection of the lane by a read of a key that no item has, so that the next operation finds it open. */
  async connect(table: string): Promise<void> {
    this.#lane ??= openLane(process.env, this.#place.endpoint);
    await this.#lane("GetItem", { TableName: table, Key: { PK: "NONE", SK: "NONE" } });
  }

  /** Sends one operation through the AWS SDK. */
  async sendBySdk<O extends TableOperation>(operation: O, input: Input<O>): Promise<Output<O>> {
    this.#sdk ??= import("./sdk.ts").then(({ sdkSender }) => sdkSender(this.#place));
    const send = await this.#sdk;
    return send(operation, input);
  }
}

/** The cost of one request's calls: DynamoDB capacity units, and the number of round trips. */
export type Usage = { readUnits: number; writeUnits: number; calls: number };

export type Connection = { client: TableClient; name: string; usage: Usage; limitMs: number };

type Spent = { CapacityUnits?: number | undefined };

/** Makes one round trip: counts it, adds up its capacity, and translates its failure for the caller. */
export async function roundTrip<T extends { ConsumedCapacity?: Spent | Spent[] | undefined }>(
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
