import { randomUUID } from "node:crypto";

import { type IfMatch, requireMatch } from "../core/etag.ts";
import type { Plan } from "../table/commit.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import type { Change } from "./kind.ts";
import { type Author, recordWrites } from "./record.ts";

/**
 * Writes that must all come from one plan, such as all writes of a transaction to DNS records. Two plans could write
 * the same item, such as the zone of the records, and a transaction cannot write an item twice. The writes are private,
 * so that they can only be passed as `ChangePlan.sole`, and a plan has only one `sole`.
 */
export class SoleWrites {
  readonly #writes: readonly Write[];

  constructor(writes: readonly Write[]) {
    this.#writes = writes;
  }

  /** The writes of a plan's `sole`; none if the plan has no `sole`. */
  static list(sole: SoleWrites | undefined): readonly Write[] {
    return sole ? sole.#writes : [];
  }
}

/** The writes of one transaction, and the changes of resources to record in the same transaction. */
export type ChangePlan<T> = Plan<T> & {
  changes: readonly Change[];
  sole?: SoleWrites | undefined;
  /** Allows the plan to write without a recorded change. Without this flag, a plan that writes must record a change. */
  housekeeping?: boolean;
  /** The answer to store for the idempotency key. The default is `value`. */
  answer?: unknown;
  /**
   * Whether the call continues with further transactions, so that no answer is stored for the idempotency key yet. If
   * the call is refused later, the key is released. If a `partial` transaction of a route with `resumes` has recorded a
   * change before the refusal, the key is released only for a repeat of the same request.
   */
  partial?: boolean;
  /**
   * Whether to note in the caller's claim, in this transaction, that the request has begun. Only for a `partial` plan.
   * The note stays until the key is released, even if the call later undoes its work. A repeat of the call gets the
   * note as `Context.hasBegun`.
   */
  begins?: boolean;
  /**
   * The present state of the resource in the path, to compare with `If-Match`. The default is the state before the
   * change in `changes`.
   */
  current?: object;
  /**
   * Whether an earlier transaction of the call has compared `If-Match`. If so, `If-Match` is not compared again,
   * because the earlier transaction may have changed the resource.
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
  /** The caller's claim on an idempotency key. The first transaction that is not `partial` stores the answer. */
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
    let isPartRecorded = false;
    const result = await table.commit(async () => {
      const planned = await plan();
      const { value, changes, matched = false, housekeeping = false, partial = false, begins = false } = planned;
      const writes = [...planned.writes, ...SoleWrites.list(planned.sole)];
      if (writes.length > 0 && changes.length === 0 && !housekeeping) {
        throw new Error(`${author.action} writes without a recorded change`);
      }
      const targetChange = changes.find((one) => one.current && one.resource.id === targetId);
      const current = planned.current ?? targetChange?.current;
      if (current && !matched) requireMatch(ifMatch, current);
      const recorded = recordWrites(accountId, changes, author, now());
      isLast = !partial;
      isPartRecorded = partial && changes.length > 0;
      const answer: Write[] =
        claim && !partial && !isAnswered ? [claim.settle("answer" in planned ? planned.answer : value)] : [];
      const begun = claim && partial && begins ? [claim.begin()] : [];
      return { value, writes: [...writes, ...recorded, ...answer, ...begun] };
    });
    isAnswered ||= isLast;
    if (claim && isPartRecorded) claim.isPartlyDone = true;
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
   * The id of the request. A repeat of an interrupted request has the same id. Another request with the same key has
   * another id.
   */
  id: string;
  /** Whether this call, or an earlier request that this call repeats, may already have done a part of the request. */
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
