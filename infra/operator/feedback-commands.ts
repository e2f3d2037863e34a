import * as z from "zod";

import { Id } from "../../shared/core/ids.ts";
import { lines } from "../../shared/core/text.ts";
import { clock } from "../../shared/core/time.ts";
import { FeedbackStatus, longestText } from "../../shared/feedback/feedback.ts";
import { listFeedback } from "../../shared/feedback/list.ts";
import { getFeedback, setFeedbackStatus } from "../../shared/feedback/operate.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Command } from "./commands.ts";

const pageSize = 25;

const PageNumber = z.string().regex(/^[1-9]\d{0,6}$/, { error: "Not a page number from 1" });
const Status = z.enum(FeedbackStatus.options, { error: `Not one of ${FeedbackStatus.options.join(", ")}` });

const statuses = FeedbackStatus.options.join(", ");
const id = { description: "The feedback's id.", schema: Id };

async function showPage(table: Table, { status, account, page = "1" }: Record<string, string>) {
  const filter = { account, status: Status.optional().parse(status) };
  const span = { page: Number(page), page_size: pageSize };
  const { items, total } = await listFeedback(table, filter, { ...span, order: "desc" });
  return {
    feedback: items.map((item) => ({
      id: item.id,
      account_id: item.account_id,
      created_at: item.created_at,
      status: item.status,
      category: item.category,
      title: item.title,
      submitter_email: item.submitter_email,
    })),
    ...span,
    total,
  };
}

/** The operator's commands for customers' feedback. */
export const feedbackCommands: Record<string, Command> = {
  "feedback list": {
    summary: `List feedback of all accounts, newest first, ${pageSize} per page.`,
    options: {
      status: { description: `Only feedback with this status: ${statuses}.`, schema: Status.optional() },
      account: { description: "Only feedback of this account.", schema: Id.optional() },
      page: { description: "The number of the page. By default 1.", schema: PageNumber.optional() },
    },
    run: showPage,
  },
  "feedback show": {
    summary: "Show one feedback with all its members.",
    options: { id },
    run: (table, options) => getFeedback(table, options["id"] ?? ""),
  },
  "feedback set-status": {
    summary: "Set the status of a feedback. Its account gets an event.",
    options: {
      id,
      status: { description: `The new status: ${statuses}.`, schema: Status },
      notes: {
        description: "A note for the customer. An empty text removes the note.",
        schema: lines({ least: 0, most: longestText, description: "A note for the customer." }).optional(),
      },
    },
    run: async (table, { id: feedbackId = "", status, notes }) => {
      const { account_id: accountId } = await getFeedback(table, feedbackId);
      const decision = { accountId, id: feedbackId, status: Status.parse(status) };
      return setFeedbackStatus(table, { ...decision, notes: notes === "" ? null : notes }, clock());
    },
  },
};
