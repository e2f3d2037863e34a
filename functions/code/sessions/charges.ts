import type { Door } from "../../../shared/http/invoke.ts";

/** What is read of a session or a stored envelope counts 1 of the rate limit for each of so many bytes. */
const readBytesPerUnit = 32_768;
/** What is written of them counts 1 for each of so many. */
const writtenBytesPerUnit = 4_096;

export const unitsToRead = (bytes: number): number => Math.floor(bytes / readBytesPerUnit);
export const unitsToWrite = (bytes: number): number => Math.floor(bytes / writtenBytesPerUnit);

/** What one request pays of its caller's rate limit, of the class `default`: 1 when it came, and what it comes to cost. */
export class RequestCharges {
  readonly #door: Pick<Door, "authenticate" | "charge">;
  #paid = 1;

  constructor(door: Pick<Door, "authenticate" | "charge">) {
    this.#door = door;
  }

  /** Pays `cost`; 429 where there is no room. What the request paid itself before takes no room from it. */
  async pay(cost: number): Promise<void> {
    if (cost <= 0) return;
    const { id: principalId } = await this.#door.authenticate();
    await this.#door.charge({ principalId, class: "default", cost, prepaid: this.#paid });
    this.#paid += cost;
  }
}
