import type * as z from "zod";

import { spanOf, type OrderedPage } from "../core/page.ts";
import {
  aheadOfRows,
  appendRows,
  type List,
  ordinalIn,
  rangeOfRows,
  readList,
  removeRows,
} from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import {
  type Feedback,
  FeedbackPointer,
  FeedbackStatus,
  feedbackKey,
  feedbackMatching,
  feedbackView,
  StoredFeedback,
} from "./feedback.ts";
import { aheadOfFeedback, listFeedback } from "./list.ts";

/*
 * The lists of the feedback that one user or service account submitted. Earlier versions stored feedback without these
 * lists. `indexFeedback` adds such feedback to the lists, oldest first. New feedback is added to the lists only if the
 * feedback before it is in the lists. So if the lists have the newest feedback of an account, they have all of its
 * feedback.
 */

const newest = { skip: 0, take: 1, order: "desc" } as const;

/** The ranges that `newestUnlisted` reads. */
export const rangesOfNewest = (account: string): NonNullable<Ahead["ranges"]> =>
  aheadOfRows(feedbackMatching({ account }), newest).ranges ?? [];

/** The newest feedback of an account if the submitters' lists lack it; undefined if the lists have all feedback. */
export async function newestUnlisted(table: Reader, account: string): Promise<StoredFeedback | undefined> {
  const { partition, from, to } = rangeOfRows(feedbackMatching({ account }));
  const [row] = await table.between(partition, from, to, { limit: 1, newestFirst: true });
  const feedback = row && StoredFeedback.parse(row);
  return feedback?.place_of_submitter === undefined ? feedback : undefined;
}

/** All feedback of an account, oldest first. */
async function allFeedback(table: Reader, account: string): Promise<StoredFeedback[]> {
  const { partition, from, to } = rangeOfRows(feedbackMatching({ account }));
  return (await table.between(partition, from, to)).map((row) => StoredFeedback.parse(row));
}

type OwnFilter = { account: string; status?: FeedbackStatus | undefined; submitter: string };

/** The items that `listOwnFeedback` reads first. */
export function aheadOfOwnFeedback(filter: OwnFilter, page: OrderedPage): Ahead {
  const { keys = [], ranges = [] } = aheadOfFeedback(filter, page);
  return { keys, ranges: [...ranges, ...rangesOfNewest(filter.account)] };
}

/**
 * A page of the feedback that one user or service account submitted in an account. Reads all feedback of the account
 * only if the submitters' lists do not have all of it yet.
 */
export async function listOwnFeedback(
  table: Reader,
  filter: OwnFilter,
  page: OrderedPage,
): Promise<{ items: Feedback[]; total: number }> {
  const { account, status, submitter } = filter;
  if (!(await newestUnlisted(table, account))) return listFeedback(table, filter, page);
  const own = (await allFeedback(table, account)).filter(
    (one) => one.created_by_user_id === submitter && (status === undefined || one.status === status),
  );
  const { skip, take } = spanOf(page);
  const ordered = page.order === "desc" ? own.toReversed() : own;
  return { items: ordered.slice(skip, skip + take).map(feedbackView), total: own.length };
}

/**
 * Completes the lists of the submitters in an account: adds the feedback of earlier versions, oldest first. Also
 * corrects the lists for feedback that an earlier version changed after a roll-back: such feedback has lost its
 * `place_of_submitter`, but the lists still have it.
 */
export async function indexFeedback(table: Table, accountId: string): Promise<void> {
  // Feedback that is submitted meanwhile is not added to the lists by its submission, because the feedback before it
  // may not be in the lists yet. So this loop runs until the lists have the newest feedback.
  do {
    const placeOf = placeFinder(table);
    for (const { id, place_of_submitter } of await allFeedback(table, accountId))
      if (place_of_submitter === undefined) await indexOne(table, accountId, id, placeOf);
  } while (await newestUnlisted(table, accountId));
}

function indexOne(table: Table, account: string, id: string, placeOf: PlaceFinder): Promise<void> {
  return table.commit(async () => {
    const key = feedbackKey(account, id);
    const stored = await table.get(key, StoredFeedback);
    if (!stored || stored.place_of_submitter !== undefined) return { value: undefined, writes: [] };
    const { created_by_user_id: submitter, status, version } = stored;
    const pointer = { account_id: account, id };
    const others = FeedbackStatus.options.filter((other) => other !== status);
    const [all, inStatus, ...removals] = await Promise.all([
      placeIn(table, feedbackMatching({ account, submitter }), pointer, placeOf),
      placeIn(table, feedbackMatching({ account, submitter, status }), pointer, placeOf),
      ...others.map((other) =>
        removalFrom(table, feedbackMatching({ account, submitter, status: other }), id, placeOf),
      ),
    ]);
    const set = { place_of_submitter: inStatus.place, version: version + 1 };
    return {
      value: undefined,
      writes: [{ update: key, set, if: { version } }, ...all.writes, ...inStatus.writes, ...removals.flat()],
    };
  });
}

/** Finds the ordinal of a feedback in a list of its submitter; undefined if the list does not have the feedback. */
type PlaceFinder = (list: List, id: string) => Promise<number | undefined>;

/**
 * A finder that reads each list once. Only `indexFeedback` changes the places of feedback without `place_of_submitter`,
 * so for such feedback the first read stays right.
 */
function placeFinder(table: Reader): PlaceFinder {
  const lists = new Map<string, Promise<Map<string, number>>>();
  return async (list, id) => {
    const places = lists.get(list.name) ?? placesIn(table, list);
    lists.set(list.name, places);
    return (await places).get(id);
  };
}

/** The ordinals of the feedback in a list, by id. */
async function placesIn(table: Reader, list: List): Promise<Map<string, number>> {
  const { partition, from, to } = rangeOfRows(list);
  const rows = await table.between(partition, from, to);
  return new Map(rows.map((row) => [FeedbackPointer.parse(row).id, ordinalIn(row.SK)]));
}

/** The ordinal of a feedback in a list, and the writes that add the feedback to the list if the list lacks it. */
async function placeIn(
  table: Reader,
  list: List,
  pointer: z.output<typeof FeedbackPointer>,
  placeOf: PlaceFinder,
): Promise<{ place: number; writes: Write[] }> {
  const place = await placeOf(list, pointer.id);
  if (place !== undefined) return { place, writes: [] };
  const { state } = await readList(table, list);
  return { place: state.next, writes: appendRows(state, [pointer]) };
}

/** The writes that remove a feedback from a list; none if the list does not have the feedback. */
async function removalFrom(table: Reader, list: List, id: string, placeOf: PlaceFinder): Promise<Write[]> {
  const place = await placeOf(list, id);
  return place === undefined ? [] : removeRows((await readList(table, list, [place])).state, [place]);
}
