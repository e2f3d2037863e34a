import type { TableClient } from "./client.ts";
import { failureOf } from "./failures.ts";

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
