import type { InvocationContext } from "../../../shared/http/invoke.ts";

/** Reading a session or a stored envelope costs 1 of the rate limit for each full number of these bytes. */
const readBytesPerUnit = 32_768;
/** Writing a session or a stored envelope costs 1 of the rate limit for each full number of these bytes. */
const writtenBytesPerUnit = 4_096;

export const unitsToRead = (bytes: number): number => Math.floor(bytes / readBytesPerUnit);
export const unitsToWrite = (bytes: number): number => Math.floor(bytes / writtenBytesPerUnit);

/** The charges of one request to the `default` rate limit: 1 on arrival, and further costs as they become known. */
export class RequestCharges {
  readonly #context: Pick<InvocationContext, "authenticate" | "charge">;
  #paid = 1;

  constructor(context: Pick<InvocationContext, "authenticate" | "charge">) {
    this.#context = context;
  }

  /** Pays `cost`; throws 429 if the limit has no room. Earlier payments of the same request do not reduce the room. */
  async charge(cost: number): Promise<void> {
    if (cost <= 0) return;
    const { id: principalId } = await this.#context.authenticate();
    await this.#context.charge({ principalId, class: "default", cost, prepaid: this.#paid });
    this.#paid += cost;
  }
}
