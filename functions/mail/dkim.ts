import { notFound } from "../../shared/core/errors.ts";
import { json } from "../../shared/http/response.ts";
import { signingKey } from "../../shared/mail/servers/dkim.ts";
import { keepHeader, mailServerHandler, queryOf, requireMember } from "../../shared/mail/servers/handler.ts";

/**
 * Tells the deployment's signers the private key for the mail of `?domain=`. Answers 404 for a domain that may not send
 * mail. The key is in no log.
 */
export const handler = mailServerHandler("mail.dkim", async (request, work) => {
  const key = await signingKey(requireMember(queryOf(request, ["domain"]), "domain"), work);
  if (!key) throw notFound();
  return { response: json(200, key, keepHeader("dkim")), fields: { domain: key.domain, selector: key.selector } };
});
