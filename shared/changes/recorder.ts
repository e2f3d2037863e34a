import { randomUUID } from "node:crypto";

import { type IfMatch, requireMatch } from "../core/etag.ts";
import type { Plan } from "../table/commit.ts";
import type { Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import type { Change } from "./kind.ts";
import { type Author, recordWrites } from "./record.ts";

/**
 * Writes that share an item, such as the zone whose records they change. They go into a transaction as `ChangePlan.sole`
 * only, of which there is one: two plans that would write the shared item twice do not type-check.
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

/** What a transaction wants to do, and which changes of resources that makes: each is recorded with it. */
export type ChangePlan<T> = Plan<T> & {
  changes: readonly Change[];
  sole?: SoleWrites | undefined;
  /** Something is written that nobody would call a change: without this that is refused. */
  housekeeping?: boolean;
  /** What an idempotency key answers with, where that is not the value. */
  answer?: unknown;
  /** The call goes on after this: its value is not what an idempotency key answers with. */
  partial?: boolean;
  /** The resource of the path as it is, to compare with what the caller last saw; that of its change if not said. */
  seen?: object;
  /** What the caller saw was compared by an earlier transaction of the same call, which changed it since. */
  matched?: boolean;
};

/**
 * Runs a plan as `Table.commit` does, and in the same transaction records its changes for the audit log and
 * the events. The only way for a route to write.
 */
export type Commit = <T>(plan: () => Promise<ChangePlan<T>>) => Promise<T>;

type Recording = {
  table: Table;
  accountId: string;
  author: Author;
  now: () => Date;
  /** The idempotency key whose answer the transaction stores. */
  claim?: Claim | undefined;
  /** What the caller last saw of the resource `targetId`. */
  ifMatch?: IfMatch | undefined;
  targetId?: string | undefined;
};

/** A `commit` in one account for one author. */
export function recorder({ table, accountId, author, now, claim, ifMatch, targetId }: Recording): Commit {
  let isAnswered = false;
  return async (plan) => {
    let isLast = true;
    const value = await table.commit(async () => {
      const planned = await plan();
      const { value, changes, matched = false, housekeeping = false, partial = false } = planned;
      const writes = [...planned.writes, ...SoleWrites.listed(planned.sole)];
      if (writes.length > 0 && changes.length === 0 && !housekeeping) {
        throw new Error(`${author.action} writes without saying what it changes`);
      }
      const { seen = changes.find(({ resource, seen }) => seen && resource.id === targetId)?.seen } = planned;
      if (seen && !matched) requireMatch(ifMatch, seen);
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

/** A key that this request has to itself until its transaction stores the answer or it is let go. */
export type Claim = {
  /** What this request goes by each time it is sent until it has an answer; another one with its key has another. */
  id: string;
  /** The write that stores the answer `value` makes, for the transaction that has the effect. */
  settle: (value: unknown) => Write;
  /** The write that stores an answer that no single transaction makes; undefined stores that it was not to be kept. */
  settleWith: (body: unknown) => Write;
  /** Replaces the stored answer by one that says more, which becomes the value that was stored. */
  restate: (value: unknown) => Promise<void>;
  /** Whether `result` is the value whose answer was stored; every deletion answers the same. */
  isSettledWith: (result: unknown) => boolean;
  /** Lets go of the key, so that the request may be tried again; nothing once the answer is stored. */
  release: () => Promise<void>;
  /** As `release`, but only the same request may be tried again: what it did in part, no other is to do again. */
  lapse: () => Promise<void>;
};

export type Planned = { writes: Write[]; changes: Change[] };

/** A `commit` for what the operator does in an account, recorded like what its principals do. */
export const operatorCommit = (table: Table, accountId: string, action: string, now: Date): Commit =>
  recorder({
    table,
    accountId,
    author: { action: `operator: ${action}`, actor: { type: "operator", id: "operator" }, requestId: randomUUID() },
    now: () => now,
  });
