import { change } from "../changes/kind.ts";
import { operatorCommit } from "../changes/recorder.ts";
import { notFound } from "../core/errors.ts";
import { spanOf, type PageQuery } from "../core/page.ts";
import { readRows } from "../table/ranked-list.ts";
import type { Reader, Table } from "../table/table.ts";
import {
  type Feedback,
  FeedbackPointer,
  type FeedbackStatus,
  StoredFeedback,
  feedbackKey,
  feedbackKind,
  feedbackMatching,
  feedbackPlaceKey,
  feedbackView,
  planLeaving,
  readStatusLists,
} from "./feedback.ts";

/** A page of the matching feedback of all accounts, newest first. */
export async function listFeedback(
  table: Reader,
  filter: { account?: string | undefined; status?: FeedbackStatus | undefined },
  page: PageQuery,
): Promise<{ items: Feedback[]; total: number }> {
  const { rows, total } = await readRows(table, feedbackMatching(filter), { ...spanOf(page), order: "newest" });
  const pointers = rows.map((row) => FeedbackPointer.parse(row));
  const items = await table.getMany(pointers.map(({ account_id, id }) => feedbackKey(account_id, id)));
  return { items: items.map((item) => feedbackView(StoredFeedback.parse(item))), total };
}

async function currentFeedback(table: Reader, accountId: string, id: string): Promise<StoredFeedback> {
  const stored = await table.get(feedbackKey(accountId, id), StoredFeedback);
  if (stored?.id !== id) throw notFound();
  return stored;
}

/** One feedback of any account. Throws 404. */
export async function getFeedback(table: Reader, id: string): Promise<Feedback> {
  const place = await table.get(feedbackPlaceKey(id), FeedbackPointer);
  if (!place) throw notFound();
  return feedbackView(await currentFeedback(table, place.account_id, id));
}

type Decision = { accountId: string; id: string; status: FeedbackStatus; notes?: string | null | undefined };

/** Sets the status of feedback. Notes that are not given stay, and null removes them. Throws 404. */
export function setFeedbackStatus(
  table: Table,
  { accountId, id, status, notes }: Decision,
  now: Date,
): Promise<Feedback> {
  const commit = operatorCommit(table, accountId, "feedback set-status", now);
  return commit(async () => {
    const before = await currentFeedback(table, accountId, id);
    const admin_notes = notes === undefined ? before.admin_notes : notes;
    const isMoved = status !== before.status;
    if (!isMoved && admin_notes === before.admin_notes) return { value: feedbackView(before), writes: [], changes: [] };
    const [removals, lists] = isMoved
      ? await Promise.all([planLeaving(table, before), readStatusLists(table, accountId, status)])
      : [[], undefined];
    const after: StoredFeedback = {
      ...before,
      ...lists?.places,
      status,
      admin_notes,
      updated_at: now.toISOString(),
      version: before.version + 1,
    };
    const [was, is] = [feedbackView(before), feedbackView(after)];
    return {
      value: is,
      writes: [
        { put: { ...feedbackKey(accountId, id), ...after }, if: { id, version: before.version } },
        ...removals,
        ...(lists?.append({ account_id: accountId, id }) ?? []),
      ],
      changes: [change(feedbackKind, "updated", id, { before: was, after: is })],
    };
  });
}
