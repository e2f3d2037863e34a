import * as z from "zod";

import { escapeHtml } from "../../../shared/core/text.ts";
import { outbox, readOutbox, type OutboxMail } from "../../../shared/providers/mail/embedded.ts";
import type { Reader } from "../../../shared/table/table.ts";
import { type Answer, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import { wantsJson } from "./forms.ts";
import { htmlAnswer } from "./html.ts";

const OutboxQuery = z.object({
  to: z.string().trim().toLowerCase().max(254).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
type OutboxQuery = z.output<typeof OutboxQuery>;

const row = ({ id, to, subject, sent_at }: OutboxMail): string =>
  `<tr><td>${escapeHtml(sent_at.slice(0, 19).replace("T", " "))}</td><td>${escapeHtml(to)}</td><td><a href="/_local/outbox/${escapeHtml(id)}">${escapeHtml(subject)}</a></td></tr>`;

const rows = (mails: readonly OutboxMail[]): string =>
  `<table><thead><tr><th>Time</th><th>To</th><th>Subject</th></tr></thead><tbody>${mails.map(row).join("\n")}</tbody></table>`;

const listPage = (mails: readonly OutboxMail[], { to = "" }: OutboxQuery): Answer =>
  htmlAnswer(
    200,
    "Outbox",
    `<p>The mail that a deployed product would send to people, newest first. Mail is deleted after seven days.</p>
      <form><label>To <input name="to" type="email" value="${escapeHtml(to)}" /></label><button>Show</button></form>
      ${mails.length === 0 ? "<p>The outbox has no mail.</p>" : rows(mails)}`,
  );

/** The permissions of a mail in its frame. Links open in a new window. Scripts do not run. */
const sandbox = "allow-popups allow-popups-to-escape-sandbox";
const framePolicy = `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox ${sandbox}`;

function mailPage(mail: OutboxMail): Answer {
  const facts = [
    ["From", mail.from],
    ["To", mail.to],
    ["Sent", mail.sent_at],
    ["Message-ID", mail.message_id],
  ].map(([name = "", value = ""]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`);
  return htmlAnswer(
    200,
    mail.subject,
    `<dl>${facts.join("\n")}</dl>
      <h2>As HTML</h2>
      <iframe title="The mail as HTML" sandbox="${sandbox}" src="/_local/outbox/${escapeHtml(mail.id)}/html"></iframe>
      <h2>As text</h2>
      <pre>${escapeHtml(mail.text)}</pre>
      <p><a href="/_local/outbox?to=${escapeHtml(encodeURIComponent(mail.to))}">All mail to this address</a></p>`,
    "frame-src 'self'",
  );
}

const htmlOnly = ({ html }: OutboxMail): Answer => ({
  status: 200,
  headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": framePolicy },
  body: Buffer.from(html.replace(/<head[^>]*>/i, '$&<base target="_blank">')),
});

const mailNotFound = (request: LocalRequest): Answer => {
  const message = "The outbox does not have this mail.";
  return wantsJson(request) ? jsonAnswer(404, { message }) : htmlAnswer(404, "Mail not found", `<p>${message}</p>`);
};

async function listMails(table: Reader, request: LocalRequest): Promise<Answer> {
  // An empty field in the form means no filter.
  const filters = Object.fromEntries([...request.query].filter(([, value]) => value !== ""));
  const { success, data, error } = OutboxQuery.safeParse(filters);
  if (!success) return jsonAnswer(422, { message: z.prettifyError(error) });
  const { to, limit } = data;
  const mails = await outbox(table, { limit, ...(to === undefined ? {} : { to }) });
  return wantsJson(request) ? jsonAnswer(200, { items: mails }) : listPage(mails, data);
}

/**
 * - `/_local/outbox`: the mails in the embedded outbox, newest first. `?to=` filters by recipient.
 * - `/_local/outbox/{id}`: one mail, with its HTML in a frame without scripts.
 *
 * Both paths can also answer with JSON.
 */
export function outboxPaths(table: Reader): LocalPath[] {
  const withMail =
    (show: (mail: OutboxMail, request: LocalRequest) => Answer) =>
    async (request: LocalRequest): Promise<Answer> => {
      const mail = await readOutbox(table, request.params["id"] ?? "");
      return mail ? show(mail, request) : mailNotFound(request);
    };
  return [
    { method: "GET", path: "/_local/outbox", handle: (request) => listMails(table, request) },
    {
      method: "GET",
      path: "/_local/outbox/{id}",
      handle: withMail((mail, request) => (wantsJson(request) ? jsonAnswer(200, mail) : mailPage(mail))),
    },
    { method: "GET", path: "/_local/outbox/{id}/html", handle: withMail(htmlOnly) },
  ];
}
