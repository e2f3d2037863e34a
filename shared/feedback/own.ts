import { spanOf, type OrderedPage } from "../core/page.ts";
import { appendRows, rangeOfRows, readHeads, readList, rowKey, type ListState } from "../table/ranked-list.ts";
import type { Reader, Table } from "../table/table.ts";
import {
  type Feedback,
  type FeedbackStatus,
  feedbackKey,
  feedbackMatching,
  feedbackView,
  StoredFeedback,
} from "./feedback.ts";
import { listFeedback } from "./list.ts";

/*
 * The lists of what one user or service account submitted. Earlier versions stored feedback without them. `indexFeedback`
 * adds it in the order in which it was submitted, and new feedback is added only behind feedback that is in the lists. So
 * all feedback of an account is in the lists if the newest is.
 */

/** Whether the submitters' lists have the feedback of an account before the ordinal `next`. */
export async function isIndexedUpTo(table: Reader, accountId: string, next: number): Promise<boolean> {
  if (next === 0) return true;
  const newest = await table.get(rowKey(feedbackMatching({ account: accountId }), next - 1), StoredFeedback);
  return newest?.place_of_submitter !== undefined;
}

/** All feedback of an account, oldest first. */
async function allFeedback(table: Reader, account: string): Promise<StoredFeedback[]> {
  const { partition, from, to } = rangeOfRows(feedbackMatching({ account }));
  return (await table.between(partition, from, to)).map((row) => StoredFeedback.parse(row));
}

type OwnFilter = { account: string; status?: FeedbackStatus | undefined; submitter: string };

/**
 * A page of the feedback that one user or service account submitted in an account. Reads all feedback of the account only
 * if the submitters' lists do not have all of it yet.
 */
export async function listOwnFeedback(
  table: Reader,
  filter: OwnFilter,
  page: OrderedPage,
): Promise<{ items: Feedback[]; total: number }> {
  const { account, status, submitter } = filter;
  const { state } = await readList(table, feedbackMatching({ account }));
  if (await isIndexedUpTo(table, account, state.next)) return listFeedback(table, filter, page);
  const own = (await allFeedback(table, account)).filter(
    (one) => one.created_by_user_id === submitter && (status === undefined || one.status === status),
  );
  const { skip, take } = spanOf(page);
  const ordered = page.order === "desc" ? own.toReversed() : own;
  return { items: ordered.slice(skip, skip + take).map(feedbackView), total: own.length };
}

/** Adds the feedback of an account that earlier versions stored to its submitters' lists, oldest first. */
export async function indexFeedback(table: Table, accountId: string): Promise<void> {
  const { state } = await readList(table, feedbackMatching({ account: accountId }));
  if (await isIndexedUpTo(table, accountId, state.next)) return;
  for (const { id, place_of_submitter } of await allFeedback(table, accountId))
    if (place_of_submitter === undefined) await indexOne(table, accountId, id);
}

function indexOne(table: Table, account: string, id: string): Promise<void> {
  return table.commit(async () => {
    const key = feedbackKey(account, id);
    const stored = await table.get(key, StoredFeedback);
    if (!stored || stored.place_of_submitter !== undefined) return { value: undefined, writes: [] };
    const { created_by_user_id: submitter, status, version } = stored;
    const lists = [feedbackMatching({ account, submitter }), feedbackMatching({ account, submitter, status })];
    const [all, inStatus] = (await readHeads(table, lists)) as [ListState, ListState];
    const pointer = { account_id: account, id };
    const set = { place_of_submitter: inStatus.next, version: version + 1 };
    return {
      value: undefined,
      writes: [
        { update: key, set, if: { version } },
        ...appendRows(all, [pointer]),
        ...appendRows(inStatus, [pointer]),
      ],
    };
  });
}
