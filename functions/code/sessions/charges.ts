import type { InvocationContext } from "../../../shared/http/invoke.ts";

type LimiterDoor = Pick<InvocationContext, "authenticate" | "charge" | "reserve">;

/** Reading a session or a stored envelope costs 1 of the rate limit for each full number of these bytes. */
const readBytesPerUnit = 32_768;
/** Writing a session or a stored envelope costs 1 of the rate limit for each full number of these bytes. */
const writtenBytesPerUnit = 4_096;

export const unitsToRead = (bytes: number): number => Math.floor(bytes / readBytesPerUnit);
export const unitsToWrite = (bytes: number): number => Math.floor(bytes / writtenBytesPerUnit);

/** The reserved score of a program, and the account whose own limit it was charged to. */
export type Reservation = {
  ownLimitOf: string | undefined;
  /** Gives back the score without the part that was used. */
  settle: (used: number) => Promise<void>;
};

/** The charges of one request to the `default` rate limit: 1 on arrival, and further costs as they become known. */
export class RequestCharges {
  readonly #context: LimiterDoor;
  #paid = 1;

  constructor(context: LimiterDoor) {
    this.#context = context;
  }

  /** Pays `cost`; throws 429 if the limit has no room. Earlier payments of the same request do not reduce the room. */
  async charge(cost: number): Promise<void> {
    if (cost <= 0) return;
    const { id: principalId } = await this.#context.authenticate();
    await this.#context.charge({ principalId, class: "default", cost, prepaid: this.#paid });
    this.#paid += cost;
  }

  /**
   * Reserves the most that a program can cost, without the 1 paid on arrival; throws 429 if the limit has no room.
   * `accountId` is the account of all its calls, and `isMember` tells whether the caller has access to it.
   */
  async reserve(score: number, accountId: string | undefined, isMember: () => Promise<boolean>): Promise<Reservation> {
    const cost = score - 1;
    if (cost <= 0) return { ownLimitOf: undefined, settle: async () => undefined };
    const { id: principalId } = await this.#context.authenticate();
    const what = { principalId, class: "default", cost, prepaid: this.#paid, accountId, isMember } as const;
    const { isOwn, settle } = await this.#context.reserve(what);
    const settled = async (used: number): Promise<void> => {
      const rest = Math.max(0, used - 1);
      if (!isOwn) this.#paid += rest;
      await settle(rest);
    };
    return { ownLimitOf: isOwn ? accountId : undefined, settle: settled };
  }
}
