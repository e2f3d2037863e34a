import type * as z from "zod";

import { appendRows, readHeads, readList, removeRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { feedbackMatching, type FeedbackPointer, type FeedbackStatus, type StoredFeedback } from "./feedback.ts";

type Places = Pick<StoredFeedback, "place_in_account" | "place_in_all">;

/** The two lists of a status as they are: the places that the next one gets in them, and the writes that add it. */
export async function readStatusLists(
  table: Reader,
  accountId: string,
  status: FeedbackStatus,
): Promise<{ places: Places; append: (pointer: z.output<typeof FeedbackPointer>) => Write[] }> {
  const lists = [feedbackMatching({ account: accountId, status }), feedbackMatching({ status })];
  const states = await readHeads(table, lists);
  const [place_in_account = 0, place_in_all = 0] = states.map(({ next }) => next);
  return {
    places: { place_in_account, place_in_all },
    append: (pointer) => states.flatMap((state) => appendRows(state, [pointer])),
  };
}

/** The writes that take feedback out of the two lists of its status. */
export async function planLeaving(table: Reader, stored: StoredFeedback): Promise<Write[]> {
  const { account_id: account, status, place_in_account, place_in_all } = stored;
  const [own, all] = await Promise.all([
    readList(table, feedbackMatching({ account, status }), [place_in_account]),
    readList(table, feedbackMatching({ status }), [place_in_all]),
  ]);
  return [...removeRows(own.state, [place_in_account]), ...removeRows(all.state, [place_in_all])];
}
