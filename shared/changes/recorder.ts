import { randomUUID } from "node:crypto";

import { type IfMatch, requireMatch } from "../core/etag.ts";
import type { Plan } from "../table/commit.ts";
import type { Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import type { Change } from "./kind.ts";
import { type Author, recordWrites } from "./record.ts";

/**
 * Writes to an item that several plans may need to write, such as the zone of several records. A transaction cannot
 * write an item twice, so it takes these writes only as `ChangePlan.sole`. A plan has one `sole`, so putting two of them
 * into one transaction does not type-check.
 */
export class SoleWrites {
  readonly #writes: readonly Write[];

  constructor(writes: readonly Write[]) {
    this.#writes = writes;
  }

  static listed(sole: SoleWrites | undefined): readonly Write[] {
    return sole ? sole.#writes : [];
  }
}

/** The writes of one transaction, and the changes of resources that are recorded with them. */
export type ChangePlan<T> = Plan<T> & {
  changes: readonly Change[];
  sole?: SoleWrites | undefined;
  /** Allows writes without a recorded change, which are refused otherwise. */
  housekeeping?: boolean;
  /** The answer to store for the idempotency key, if it is not the value. */
  answer?: unknown;
  /** The call continues with further transactions, so this value is not stored for the idempotency key. */
  partial?: boolean;
  /**
   * The current resource of the path, to compare with `If-Match`. By default it is taken from the change of that
   * resource.
   */
  current?: object;
  /** An earlier transaction of the same call checked `If-Match` already, and may have changed the resource since. */
  matched?: boolean;
};

/**
 * Runs a plan as `Table.commit` does, and records its changes in the same transaction, for the audit log and the
 * events. A route has no other way to write.
 */
export type Commit = <T>(plan: () => Promise<ChangePlan<T>>) => Promise<T>;

type Recording = {
  table: Table;
  accountId: string;
  author: Author;
  now: () => Date;
  /** The idempotency key whose answer the transaction stores. */
  claim?: Claim | undefined;
  /** The caller's `If-Match` condition on the resource `targetId`. */
  ifMatch?: IfMatch | undefined;
  targetId?: string | undefined;
};

/** Creates a `Commit` for one account and one author. */
export function recorder({ table, accountId, author, now, claim, ifMatch, targetId }: Recording): Commit {
  let isAnswered = false;
  return async (plan) => {
    let isLast = true;
    const value = await table.commit(async () => {
      const planned = await plan();
      const { value, changes, matched = false, housekeeping = false, partial = false } = planned;
      const writes = [...planned.writes, ...SoleWrites.listed(planned.sole)];
      if (writes.length > 0 && changes.length === 0 && !housekeeping) {
        throw new Error(`${author.action} writes without a recorded change`);
      }
      const { current = changes.find(({ resource, current }) => current && resource.id === targetId)?.current } =
        planned;
      if (current && !matched) requireMatch(ifMatch, current);
      const recorded = recordWrites(accountId, changes, author, now());
      isLast = !partial;
      const answer: Write[] =
        claim && !partial && !isAnswered ? [claim.settle("answer" in planned ? planned.answer : value)] : [];
      return { value, writes: [...writes, ...recorded, ...answer] };
    });
    isAnswered ||= isLast;
    return value;
  };
}

/** An idempotency key that belongs to this request until its transaction stores the answer or the claim is released. */
export type Claim = {
  /**
   * The id of the request. Repeats of the request have the same id until it has an answer. Another request with the
   * same key has another id.
   */
  id: string;
  /** The write that stores the answer made from `value`, for the transaction that has the effect. */
  settle: (value: unknown) => Write;
  /**
   * The write that stores `body` as the answer, for a call of several transactions. With undefined it stores only that
   * there was an answer.
   */
  settleWith: (body: unknown) => Write;
  /** Replaces the stored answer by a more complete one. `isSettledWith` then compares with the new value. */
  restate: (value: unknown) => Promise<void>;
  /**
   * Whether `result` is the value whose answer was stored. True for every stored deletion, because all deletions answer
   * the same.
   */
  isSettledWith: (result: unknown) => boolean;
  /** Releases the key, so that the request can be tried again. Does nothing once the answer is stored. */
  release: () => Promise<void>;
  /**
   * Releases the key for a repeat of the same request only. Another request with the key stays refused, because a part
   * of this one is finished.
   */
  lapse: () => Promise<void>;
};

export type Planned = { writes: Write[]; changes: Change[] };

/** Creates a `Commit` for changes by the operator, which are recorded like those of an account's principals. */
export const operatorCommit = (table: Table, accountId: string, action: string, now: Date): Commit =>
  recorder({
    table,
    accountId,
    author: { action: `operator: ${action}`, actor: { type: "operator", id: "operator" }, requestId: randomUUID() },
    now: () => now,
  });
