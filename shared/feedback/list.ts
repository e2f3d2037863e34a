import { spanOf, type OrderedPage } from "../core/page.ts";
import { atOneMoment } from "../table/moment.ts";
import { aheadOfRows, readRows } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Item } from "../table/writes.ts";
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

/**
 * A page of the matching feedback: of one account, of one submitter in an account, or of all accounts. If the filter
 * has a status, and the status of listed feedback changes during the read, the read starts again.
 */
export async function listFeedback(
  table: Reader,
  filter: FeedbackFilter,
  page: OrderedPage,
): Promise<{ items: Feedback[]; total: number }> {
  const isWhole = filter.account !== undefined && filter.submitter === undefined && filter.status === undefined;
  if (isWhole) {
    const { rows, total } = await readRows(table, feedbackMatching(filter), spanOf(page));
    return { items: rows.map((row) => feedbackView(StoredFeedback.parse(row))), total };
  }
  const resolve = async (rows: readonly Item[]): Promise<Feedback[]> => {
    const pointers = rows.map((row) => FeedbackPointer.parse(row));
    const found = await table.getMany(pointers.map(({ account_id, id }) => feedbackKey(account_id, id)));
    const items = found.map((item) => feedbackView(StoredFeedback.parse(item)));
    return items.filter(({ status }) => filter.status === undefined || status === filter.status);
  };
  const { skip, take, order } = spanOf(page);
  const { rows, total } = await atOneMoment(table, async (moment) =>
    moment.page(await moment.open([{ list: feedbackMatching(filter), resolve }]), skip, take, order),
  );
  return { items: rows, total };
}
