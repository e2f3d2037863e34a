import type { InvocationContext } from "../../../shared/http/invoke.ts";

type RateLimiter = Pick<InvocationContext, "authenticate" | "charge" | "reserve">;

/** Reading this many bytes of a session or a stored envelope costs 1 of the rate limit. Fewer bytes cost nothing. */
const readBytesPerUnit = 32_768;
/** Writing this many bytes of a session or a stored envelope costs 1 of the rate limit. Fewer bytes cost nothing. */
const writtenBytesPerUnit = 4_096;

export const unitsToRead = (bytes: number): number => Math.floor(bytes / readBytesPerUnit);
export const unitsToWrite = (bytes: number): number => Math.floor(bytes / writtenBytesPerUnit);

/** The reserved score of a program. */
export type Reservation = {
  /** The account whose own rate limit was charged; undefined if no such limit was charged. */
  ownLimitOf: string | undefined;
  /** Gives back the part of the score that was not used. */
  settle: (used: number) => Promise<void>;
};

/** The charges of one request to the `default` rate limit: 1 on arrival, and further costs as they become known. */
export class RequestCharges {
  readonly #context: RateLimiter;
  #paid = 1;

  constructor(context: RateLimiter) {
    this.#context = context;
  }

  /**
   * Charges `cost`. Throws 429 if the limit has no room. If no other request uses the limit, every cost fits.
   */
  async charge(cost: number): Promise<void> {
    if (cost <= 0) return;
    const { id: principalId } = await this.#context.authenticate();
    await this.#context.charge({ principalId, class: "default", cost, prepaid: this.#paid });
    this.#paid += cost;
  }

  /**
   * Reserves the score of a program, less the 1 that was paid on arrival. Throws 429 if the limit has no room.
   * `accountId` is the account of all calls of the program. `isMember` tells whether the caller has access to this
   * account.
   */
  async reserve(score: number, accountId: string | undefined, isMember: () => Promise<boolean>): Promise<Reservation> {
    const cost = score - 1;
    if (cost <= 0) return { ownLimitOf: undefined, settle: async () => undefined };
    const { id: principalId } = await this.#context.authenticate();
    const options = { principalId, class: "default", cost, prepaid: this.#paid, accountId, isMember } as const;
    const { isOwn, settle } = await this.#context.reserve(options);
    const settleScore = async (used: number): Promise<void> => {
      const usedCost = Math.max(0, used - 1);
      // A score that was charged to the account's own limit has not used the caller's limit.
      if (!isOwn) this.#paid += usedCost;
      await settle(usedCost);
    };
    return { ownLimitOf: isOwn ? accountId : undefined, settle: settleScore };
  }
}
