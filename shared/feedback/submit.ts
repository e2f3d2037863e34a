import type { Principal } from "../auth/principal.ts";
import { change } from "../changes/kind.ts";
import { idWithOrdinal } from "../core/ids.ts";
import type { Context } from "../http/route.ts";
import { appendRows, readHeads, aheadOfLists, type ListState } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import {
  type Feedback,
  type FeedbackFilter,
  type NewFeedback,
  type StoredFeedback,
  feedbackKey,
  feedbackKind,
  feedbackMatching,
  feedbackPointerKey,
  feedbackView,
  readStatusLists,
} from "./feedback.ts";
import { newestUnlisted, rangesOfNewest } from "./own.ts";

/** The full name of a principal; null if no name is known. */
function fullName({ first_name, last_name }: Principal): string | null {
  const name = [first_name, last_name].flatMap((part) => part?.trim() || []).join(" ");
  return name === "" ? null : name;
}

/** The lists that get new feedback in any status: of the account, of all accounts, and of the submitter. */
const listsOf = (account: string, submitter: string): FeedbackFilter[] => [{ account }, {}, { account, submitter }];

/** The items that `submitFeedback` reads. */
export function aheadOfSubmission(account: string, submitter: string): Ahead {
  const filters = listsOf(account, submitter).flatMap((filter) => [filter, { ...filter, status: "new" as const }]);
  return { ...aheadOfLists(filters.map(feedbackMatching)), ranges: rangesOfNewest(account) };
}

/** Stores the principal's feedback on the product. The operator reads it. */
export function submitFeedback(
  accountId: string,
  { attributes, ...input }: NewFeedback,
  { principal, table, commit, now }: Context,
): Promise<Feedback> {
  return commit(async () => {
    const submitter = principal.id;
    const [heads, unlisted] = await Promise.all([
      readHeads(table, listsOf(accountId, submitter).map(feedbackMatching)),
      newestUnlisted(table, accountId),
    ]);
    const [ofAccount, ofAll, ofSubmitter] = heads as [ListState, ListState, ListState];
    const hasIndex = unlisted === undefined;
    const statusLists = await readStatusLists(table, { account: accountId, submitter, isIndexed: hasIndex }, "new");
    const [id, at] = [idWithOrdinal(ofAccount.next), now().toISOString()];
    const stored: StoredFeedback = {
      id,
      account_id: accountId,
      ...input,
      attributes: JSON.stringify(attributes ?? {}),
      status: "new",
      created_by_user_id: submitter,
      submitter_email: principal.email,
      submitter_name: fullName(principal),
      created_at: at,
      updated_at: at,
      admin_notes: null,
      ...statusLists.places,
      version: 1,
    };
    const pointer = { account_id: accountId, id };
    const feedback = feedbackView(stored);
    return {
      value: feedback,
      writes: [
        ...appendRows(ofAccount, [stored]),
        ...appendRows(ofAll, [pointer]),
        ...(hasIndex ? appendRows(ofSubmitter, [pointer]) : []),
        ...statusLists.append(pointer),
        { put: { ...feedbackPointerKey(id), ...pointer }, if: "absent" },
        // The transaction fails if the migration meanwhile adds the preceding feedback to the lists. In this case the
        // new feedback must be in the lists too.
        ...(unlisted ? [{ check: feedbackKey(accountId, unlisted.id), if: { version: unlisted.version } }] : []),
      ],
      changes: [change(feedbackKind, "submitted", id, { after: feedback })],
    };
  });
}
