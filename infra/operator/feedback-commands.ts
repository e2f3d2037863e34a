import * as z from "zod";

import { Id } from "../../shared/core/ids.ts";
import { lines } from "../../shared/core/text.ts";
import { clock } from "../../shared/core/time.ts";
import { FeedbackStatus, longestText } from "../../shared/feedback/feedback.ts";
import { getFeedback, listFeedback, setFeedbackStatus } from "../../shared/feedback/operate.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Command } from "./commands.ts";

const pageSize = 25;

const Page = z.string().regex(/^[1-9]\d{0,6}$/, { error: "Not a page number from 1" });
const Status = z.enum(FeedbackStatus.options, { error: `Not one of ${FeedbackStatus.options.join(", ")}` });

const statuses = FeedbackStatus.options.join(", ");
const id = { description: "The feedback's id.", schema: Id };

async function list(table: Table, { status, account, page = "1" }: Record<string, string>) {
  const filter = { account, status: Status.optional().parse(status) };
  const span = { page: Number(page), page_size: pageSize };
  const { items, total } = await listFeedback(table, filter, span);
  return {
    feedback: items.map(
      ({ id: feedbackId, account_id, created_at, status: now, category, title, submitter_email: by }) => ({
        id: feedbackId,
        account_id,
        created_at,
        status: now,
        category,
        title,
        submitter_email: by,
      }),
    ),
    ...span,
    total,
  };
}

/** The operator's commands for customers' feedback. */
export const feedbackCommands: Record<string, Command> = {
  "feedback list": {
    summary: `List feedback of all accounts, newest first, ${pageSize} a page.`,
    options: {
      status: { description: `Only what is ${statuses}.`, schema: Status.optional() },
      account: { description: "Only of this account.", schema: Id.optional() },
      page: { description: "Which page; 1 if not given.", schema: Page.optional() },
    },
    run: list,
  },
  "feedback show": {
    summary: "Show all of one feedback.",
    options: { id },
    run: (table, options) => getFeedback(table, options["id"] ?? ""),
  },
  "feedback set-status": {
    summary: "Say what became of feedback; its account is told by an event.",
    options: {
      id,
      status: { description: `One of ${statuses}.`, schema: Status },
      notes: {
        description: "What the customer reads about it; empty takes it away.",
        schema: lines({ least: 0, most: longestText, description: "What the customer reads about it." }).optional(),
      },
    },
    run: async (table, { id: feedbackId = "", status, notes }) => {
      const { account_id: accountId } = await getFeedback(table, feedbackId);
      const decision = { accountId, id: feedbackId, status: Status.parse(status) };
      return setFeedbackStatus(table, { ...decision, notes: notes === "" ? null : notes }, clock());
    },
  },
};
