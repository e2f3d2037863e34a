import { change } from "../changes/kind.ts";
import { operatorCommit } from "../changes/recorder.ts";
import { notFound } from "../core/errors.ts";
import type { Reader, Table } from "../table/table.ts";
import {
  type Feedback,
  FeedbackPointer,
  type FeedbackStatus,
  StoredFeedback,
  feedbackKey,
  feedbackKind,
  feedbackPointerKey,
  feedbackView,
  planStatusRemoval,
  readStatusLists,
} from "./feedback.ts";

async function currentFeedback(table: Reader, accountId: string, id: string): Promise<StoredFeedback> {
  const stored = await table.get(feedbackKey(accountId, id), StoredFeedback);
  if (stored?.id !== id) throw notFound();
  return stored;
}

/** Reads a feedback of any account. Throws 404 if there is no such feedback. */
export async function getFeedback(table: Reader, id: string): Promise<Feedback> {
  const pointer = await table.get(feedbackPointerKey(id), FeedbackPointer);
  if (!pointer) throw notFound();
  return feedbackView(await currentFeedback(table, pointer.account_id, id));
}

/** The account and the submitter of feedback, and whether the submitter's lists have the feedback. */
const listedOf = ({ account_id, created_by_user_id, place_of_submitter }: StoredFeedback) => ({
  account: account_id,
  submitter: created_by_user_id,
  isIndexed: place_of_submitter !== undefined,
});

type Decision = { accountId: string; id: string; status: FeedbackStatus; notes?: string | null | undefined };

/**
 * Sets the status and the notes of feedback. Undefined notes stay as they are; null removes the notes. Throws 404 if
 * the account does not have the feedback.
 */
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
      ? await Promise.all([planStatusRemoval(table, before), readStatusLists(table, listedOf(before), status)])
      : [[], undefined];
    const after: StoredFeedback = {
      ...before,
      ...lists?.places,
      status,
      admin_notes,
      updated_at: now.toISOString(),
      version: before.version + 1,
    };
    const view = feedbackView(after);
    return {
      value: view,
      writes: [
        { put: { ...feedbackKey(accountId, id), ...after }, if: { id, version: before.version } },
        ...removals,
        ...(lists?.append({ account_id: accountId, id }) ?? []),
      ],
      changes: [change(feedbackKind, "updated", id, { before: feedbackView(before), after: view })],
    };
  });
}
