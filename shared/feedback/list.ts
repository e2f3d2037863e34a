import { spanOf, type OrderedPage } from "../core/page.ts";
import { aheadOfRows, readRows } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import {
  type Feedback,
  type FeedbackFilter,
  feedbackKey,
  feedbackMatching,
  FeedbackPointer,
  feedbackView,
  StoredFeedback,
} from "./feedback.ts";

/** The items that `listFeedback` reads first. */
export const aheadOfFeedback = (filter: FeedbackFilter, page: OrderedPage): Ahead =>
  aheadOfRows(feedbackMatching(filter), spanOf(page));

/** A page of the matching feedback: of one account, of one submitter in an account, or of all accounts. */
export async function listFeedback(
  table: Reader,
  filter: FeedbackFilter,
  page: OrderedPage,
): Promise<{ items: Feedback[]; total: number }> {
  const { rows, total } = await readRows(table, feedbackMatching(filter), spanOf(page));
  const isWhole = filter.account !== undefined && filter.submitter === undefined && filter.status === undefined;
  if (isWhole) return { items: rows.map((row) => feedbackView(StoredFeedback.parse(row))), total };
  const pointers = rows.map((row) => FeedbackPointer.parse(row));
  const items = await table.getMany(pointers.map(({ account_id, id }) => feedbackKey(account_id, id)));
  return { items: items.map((item) => feedbackView(StoredFeedback.parse(item))), total };
}
