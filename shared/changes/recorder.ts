import { randomUUID } from "node:crypto";

import { type IfMatch, requireMatch } from "../core/etag.ts";
import type { Plan } from "../table/commit.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import type { Change } from "./kind.ts";
import { type Author, recordWrites } from "./record.ts";

/**
 * Writes to an item that several plans may need to write, such as the zone of several records. A transaction cannot
 * write an item twice. So these writes can only be passed as `ChangePlan.sole`, and a plan has only one `sole`.
 */
export class SoleWrites {
  readonly #writes: readonly Write[];

  constructor(writes: readonly Write[]) {
    this.#writes = writes;
  }

  static list(sole: SoleWrites | undefined): readonly Write[] {
    return sole ? sole.#writes : [];
  }
}

/** The writes of one transaction, and the changes of resources to record in the same transaction. */
export type ChangePlan<T> = Plan<T> & {
  changes: readonly Change[];
  sole?: SoleWrites | undefined;
  /** Allows writes without a recorded change, which are refused otherwise. */
  housekeeping?: boolean;
  /** The answer to store for the idempotency key. The default is the value. */
  answer?: unknown;
  /**
   * Whether the call continues with further transactions, so that no answer is stored for the idempotency key yet. A
   * later refusal of the call releases the key. If a `partial` transaction has recorded a change on a route with
   * `resumes`, only a repeat of the same request can then use the key.
   */
  partial?: boolean;
  /**
   * Whether to note at the caller's claim, in this transaction, that the request has begun. Only for a `partial` plan.
   * The note stays if the begun work is undone later. A repeat of the call finds `hasBegun` in its context.
   */
  begins?: boolean;
  /**
   * The present state of the resource in the path, to compare with `If-Match`. The default is the state before the
   * change in `changes`.
   */
  current?: object;
  /**
   * Whether an earlier transaction of the call has compared `If-Match`. That transaction may have changed the resource.
   */
  matched?: boolean;
};

/**
 * Runs a plan as `Table.commit` does, and records the changes of the plan in the same transaction, for the audit log
 * and the events. Throws 412 if the resource does not match `If-Match`. Routes change resources only by this function.
 */
export type Commit = <T>(plan: () => Promise<ChangePlan<T>>) => Promise<T>;

type Recording = {
  table: Table;
  accountId: string;
  author: Author;
  now: () => Date;
  /** The idempotency key whose answer the transaction stores. */
  claim?: Claim | undefined;
  /** The caller's condition on the resource with the id `targetId`. */
  ifMatch?: IfMatch | undefined;
  targetId?: string | undefined;
};

/** Creates a `Commit` for one account and one author. */
export function recorder({ table, accountId, author, now, claim, ifMatch, targetId }: Recording): Commit {
  let isAnswered = false;
  return async (plan) => {
    let isLast = true;
    let isPart = false;
    const result = await table.commit(async () => {
      const planned = await plan();
      const { value, changes, matched = false, housekeeping = false, partial = false, begins = false } = planned;
      const writes = [...planned.writes, ...SoleWrites.list(planned.sole)];
      if (writes.length > 0 && changes.length === 0 && !housekeeping) {
        throw new Error(`${author.action} writes without a recorded change`);
      }
      const { current = changes.find(({ resource, current }) => current && resource.id === targetId)?.current } =
        planned;
      if (current && !matched) requireMatch(ifMatch, current);
      const recorded = recordWrites(accountId, changes, author, now());
      isLast = !partial;
      isPart = partial && changes.length > 0;
      const answer: Write[] =
        claim && !partial && !isAnswered ? [claim.settle("answer" in planned ? planned.answer : value)] : [];
      const begun = claim && partial && begins ? [claim.begin()] : [];
      return { value, writes: [...writes, ...recorded, ...answer, ...begun] };
    });
    isAnswered ||= isLast;
    if (claim && isPart) claim.isPartlyDone = true;
    return result;
  };
}

/** The table and the commit of one author of changes: a caller, or the product itself. */
export type Writer = { table: Reader; commit: Commit; now: () => Date };

/** Creates the writer of one author for one account. */
export const writerOf = (
  { table, now }: Pick<Recording, "table" | "now">,
  accountId: string,
  author: Author,
): Writer => ({ table, now, commit: recorder({ table, accountId, author, now }) });

/**
 * The claim of a request on its idempotency key. The claim ends when a transaction stores the answer, when the key is
 * released, or when the claim expires.
 */
export type Claim = {
  /**
   * The id of the request. A repeat of the request has the same id until the request has an answer. Another request
   * with the same key has another id.
   */
  id: string;
  /** Whether a part of the request may be done: by this call, or by an earlier request that this request repeats. */
  isPartlyDone: boolean;
  /** Whether an earlier attempt of the request, and not this one, has committed the write of `begin`. */
  hasBegun: boolean;
  /** The write that notes that the request has begun. */
  begin: () => Write;
  /** The write that stores the answer made from `value`, for the transaction that makes the changes. */
  settle: (value: unknown) => Write;
  /**
   * The write that stores `body` as the answer, for a call of several transactions. If `body` is undefined, the write
   * stores only that there was an answer.
   */
  settleWith: (body: unknown) => Write;
  /** Replaces the stored answer by the answer made from `value`. `isSettledWith` then compares with `value`. */
  restate: (value: unknown) => Promise<void>;
  /**
   * Whether `result` is the value whose answer was stored. Always true after a deletion, because all deletions have the
   * same answer.
   */
  isSettledWith: (result: unknown) => boolean;
  /** Releases the key, so that the request can be tried again. Does nothing if the answer is stored. */
  release: () => Promise<void>;
  /**
   * Releases the key for a repeat of the same request only. Another request with the key stays refused, because a part
   * of the first request is done.
   */
  lapse: () => Promise<void>;
};

export type Planned = { writes: Write[]; changes: Change[] };

/** Creates a `Commit` for changes by the operator. They are recorded in the account's audit log. */
export const operatorCommit = (table: Table, accountId: string, action: string, now: Date): Commit =>
  recorder({
    table,
    accountId,
    author: { action: `operator: ${action}`, actor: { type: "operator", id: "operator" }, requestId: randomUUID() },
    now: () => now,
  });
