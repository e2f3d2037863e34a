import * as z from "zod";

import { Endpoint } from "../../core/endpoint.ts";

/** The mail servers of this deployment, for the proxy that handles logins. */
export const MailServersEnvironment = z.object({
  /** The relay that sends mail from the shared addresses. */
  MAIL_SMTP_RELAY: Endpoint.prefault("127.0.0.1:2525"),
  /** The server that stores the mailboxes. */
  MAIL_IMAP_SERVER: Endpoint.prefault("127.0.0.1:1143"),
  /** The delay of the answer to a first wrong password, in seconds. */
  MAIL_LOGIN_WAIT: z.coerce.number().int().min(0).max(30).default(3),
});

/** The servers behind the proxy. Reads the environment when it is called, not at import. */
export function mailServers(): { smtp: Endpoint; imap: Endpoint; loginWaitSeconds: number } {
  const { MAIL_SMTP_RELAY, MAIL_IMAP_SERVER, MAIL_LOGIN_WAIT } = MailServersEnvironment.parse(process.env);
  return { smtp: MAIL_SMTP_RELAY, imap: MAIL_IMAP_SERVER, loginWaitSeconds: MAIL_LOGIN_WAIT };
}
