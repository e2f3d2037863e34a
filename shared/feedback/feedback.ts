import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Attributes } from "../core/fields.ts";
import { Id, ordinalOf } from "../core/ids.ts";
import { line, lines } from "../core/text.ts";
import { Timestamp } from "../core/time.ts";
import { type List, appendRows, readHeads, readList, removeRows, rowKey } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * Access patterns
 *   feedback of an account, and one by the ordinal in its id   ACCOUNT#<id> / LIST#feedback
 *     … in a status                                            ACCOUNT#<id> / LIST#feedback/<status>
 *   feedback of one submitter in an account                    ACCOUNT#<id> / LIST#feedback_by/<submitter>
 *     … in a status                                            ACCOUNT#<id> / LIST#feedback_by/<submitter>/<status>
 *   feedback of all accounts, for the operator                 FEEDBACK / LIST#feedback
 *     … in a status                                            FEEDBACK / LIST#feedback/<status>
 *   the account of a feedback                                  FEEDBACK#<id> / FEEDBACK
 */
export type FeedbackFilter = { status?: FeedbackStatus | undefined } & (
  | { account?: undefined; submitter?: undefined }
  | { account: string; submitter?: string | undefined }
);

/**
 * The list of the feedback that matches the filter. The list `feedback` of an account has the whole rows. All other
 * lists have pointers.
 */
export const feedbackMatching = ({ account, submitter, status }: FeedbackFilter): List => ({
  partition: account === undefined ? "FEEDBACK" : `ACCOUNT#${account}`,
  name: [submitter === undefined ? "feedback" : `feedback_by/${submitter}`, ...(status ? [status] : [])].join("/"),
});
/** The key of the feedback with this id. An id without an ordinal gets a key that no feedback has. */
export const feedbackKey = (accountId: string, id: string): Key =>
  rowKey(feedbackMatching({ account: accountId }), ordinalOf(id) ?? 2 ** 40);
/** The key of the item that tells the account of a feedback. */
export const feedbackPointerKey = (id: string): Key => ({ PK: `FEEDBACK#${id}`, SK: "FEEDBACK" });

export const FeedbackPointer = z.object({ account_id: z.string(), id: z.string() });

export const longestText = 10_000;

const FeedbackCategory = z.enum(["bug_report", "product_feedback", "feature_request", "other"]);

export const FeedbackStatus = z.enum(["new", "in_review", "planned", "done", "declined"]);
export type FeedbackStatus = z.output<typeof FeedbackStatus>;

export const NewFeedback = z
  .strictObject({
    category: FeedbackCategory.meta({ description: "The kind of feedback." }),
    title: line({ most: 200, description: "The subject of the feedback." }),
    description: lines({ most: longestText, description: "The text of the feedback." }),
    attributes: Attributes.nullish().meta({
      description:
        "Details that help to understand the feedback, such as a version, up to 8 KiB of JSON and 20 levels deep.",
    }),
    paid_product_feature: z
      .boolean()
      .default(false)
      .meta({ description: "Whether the feedback is about a paid feature." }),
  })
  .meta({ id: "FeedbackCreate", description: "Feedback on the product." });
export type NewFeedback = z.output<typeof NewFeedback>;

export const Feedback = z
  .object({
    id: Id.meta({ description: "The feedback's id." }),
    account_id: Id.meta({ description: "The account in which the feedback was submitted." }),
    category: FeedbackCategory.meta({ description: "The kind of feedback." }),
    title: z.string().meta({ description: "The subject of the feedback." }),
    description: z.string().meta({ description: "The text of the feedback. Lines end with a line feed." }),
    attributes: z
      .record(z.string(), z.unknown())
      .meta({ description: "The details that were sent with the feedback. Empty if there were none." }),
    paid_product_feature: z.boolean().meta({ description: "Whether the feedback is about a paid feature." }),
    status: FeedbackStatus.meta({ description: "The status of the feedback. New feedback is `new`." }),
    created_by_user_id: Id.meta({ description: "The id of the user or service account that submitted the feedback." }),
    submitter_email: z.string().meta({ description: "The submitter's e-mail address at that time, as in `me.get`." }),
    submitter_name: z
      .string()
      .nullable()
      .meta({ description: "The submitter's name. Null for service accounts, and if the token does not have it." }),
    created_at: Timestamp.meta({ description: "When the feedback was submitted." }),
    updated_at: Timestamp.meta({ description: "When the feedback last changed." }),
    admin_notes: z.string().nullable().meta({ description: "Our answer. Null until there is one." }),
  })
  .meta({ id: "Feedback", description: "Feedback on the product, with its status and our answer." });
export type Feedback = z.output<typeof Feedback>;

export const feedbackKind = defineKind({
  name: "feedback",
  verbs: ["submitted", "updated"],
  view: Feedback,
  // `feedback.list` too shows other people's feedback only to callers with this capability.
  seenWith: "auth.manage",
});

export const StoredFeedback = Feedback.extend({
  /** Stored as JSON text, because JSON allows more depth and longer numbers than a DynamoDB map. */
  attributes: z.string(),
  /** The ordinal of the feedback in the list of the account's feedback with the same status. */
  place_in_account: z.int(),
  /** The ordinal of the feedback in the list of all accounts' feedback with the same status. */
  place_in_all: z.int(),
  /**
   * The ordinal of the feedback in the list of the submitter's feedback with the same status. Absent if the submitter's
   * lists do not have the feedback yet. `indexFeedback` adds the feedback that earlier versions stored.
   */
  place_of_submitter: z.int().optional(),
  version: z.int(),
});
export type StoredFeedback = z.output<typeof StoredFeedback>;

/** The API view of stored feedback. */
export const feedbackView = (stored: StoredFeedback): Feedback => ({
  ...Feedback.omit({ attributes: true }).parse(stored),
  attributes: JSON.parse(stored.attributes) as Record<string, unknown>,
});

/** The account and the submitter of feedback. `isIndexed` says whether the submitter's lists contain the feedback. */
type Listed = { account: string; submitter: string; isIndexed: boolean };
type Places = Pick<StoredFeedback, "place_in_account" | "place_in_all" | "place_of_submitter">;

/**
 * Reads the lists of a status: of the account, of all accounts, and, if `isIndexed`, of the submitter. Returns the
 * ordinals that the next feedback gets in these lists, and a function that plans to add the next feedback.
 */
export async function readStatusLists(
  table: Reader,
  { account, submitter, isIndexed }: Listed,
  status: FeedbackStatus,
): Promise<{ places: Places; append: (pointer: z.output<typeof FeedbackPointer>) => Write[] }> {
  const shared = [feedbackMatching({ account, status }), feedbackMatching({ status })];
  const own = isIndexed ? [feedbackMatching({ account, submitter, status })] : [];
  const states = await readHeads(table, [...shared, ...own]);
  const [place_in_account = 0, place_in_all = 0, place_of_submitter] = states.map(({ next }) => next);
  return {
    places: { place_in_account, place_in_all, ...(isIndexed ? { place_of_submitter } : {}) },
    append: (pointer) => states.flatMap((state) => appendRows(state, [pointer])),
  };
}

/** The writes that remove feedback from the lists of its status. */
export async function planStatusRemoval(table: Reader, stored: StoredFeedback): Promise<Write[]> {
  const { account_id: account, created_by_user_id: submitter, status } = stored;
  const places: [List, number | undefined][] = [
    [feedbackMatching({ account, status }), stored.place_in_account],
    [feedbackMatching({ status }), stored.place_in_all],
    [feedbackMatching({ account, submitter, status }), stored.place_of_submitter],
  ];
  const removals = places.map(async ([list, place]) =>
    place === undefined ? [] : removeRows((await readList(table, list, [place])).state, [place]),
  );
  return (await Promise.all(removals)).flat();
}
