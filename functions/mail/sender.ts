import { json } from "../../shared/http/response.ts";
import { keepHeader, mailServerHandler, queryOf, requireMember } from "../../shared/mail/servers/handler.ts";
import { senderVerdict } from "../../shared/mail/servers/sender.ts";

/**
 * Tells the deployment's mail servers whether the login `?login=` may send mail from the address `&from=`, and how the
 * mail leaves. With `&to=`, the mail is for this recipient. With `?queued=true` in place of `?login=`, the question is
 * about mail that is already in the queue. A refusal must not be cached, because its reason can end in the next second.
 */
export const handler = mailServerHandler("mail.sender", async (request, work) => {
  const query = queryOf(request, ["login", "from", "to", "queued"]);
  const login = query.login ?? (query.queued === "true" ? undefined : requireMember(query, "login"));
  const question = { login, from: requireMember(query, "from"), to: query.to };
  const verdict = await senderVerdict(work, question);
  const outcome = verdict.allowed ? "allowed" : verdict.reason.code;
  return {
    response: json(200, verdict, verdict.allowed ? keepHeader("sender") : {}),
    fields: { outcome, account_id: verdict.account_id },
  };
});
