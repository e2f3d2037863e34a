import { json } from "../../shared/http/response.ts";
import { readBatch } from "../../shared/mail/servers/batch.ts";
import { mailServerHandler } from "../../shared/mail/servers/handler.ts";
import { reportUsage, UsageBatch } from "../../shared/mail/usage/report.ts";

/**
 * Stores a batch of usage from mail servers: the sizes of mailboxes, how many mails they sent, and the logins to them.
 * If the same batch comes again, nothing changes and the answer is the same.
 */
export const handler = mailServerHandler("mail.usage", async (request, work) => {
  const answer = await reportUsage(readBatch(UsageBatch, request), work);
  return { response: json(200, answer), fields: { accepted: answer.accepted, ignored: answer.ignored.length } };
});
