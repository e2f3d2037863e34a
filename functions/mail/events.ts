import { json } from "../../shared/http/response.ts";
import { EventBatch, reportEvents } from "../../shared/mail/events/events.ts";
import { readBatch } from "../../shared/mail/servers/batch.ts";
import { mailServerHandler } from "../../shared/mail/servers/handler.ts";

/**
 * Stores a batch of reports from mail servers: deliveries, bounces and complaints. If the same batch comes again,
 * nothing changes and the answer is the same.
 */
export const handler = mailServerHandler("mail.events", async (request, work) => {
  const answer = await reportEvents(readBatch(EventBatch, request), work);
  return { response: json(200, answer), fields: { accepted: answer.accepted, ignored: answer.ignored.length } };
});
