import * as z from "zod";

import { Endpoint } from "../../core/endpoint.ts";
import type { Protocol } from "./log-in.ts";

/** The mail servers of this deployment, for the proxy that handles logins. */
export const MailServersEnvironment = z.object({
  /** The relay that sends mail from the shared addresses. */
  MAIL_SMTP_RELAY: Endpoint.prefault("127.0.0.1:2525"),
  /** The IMAP server of the mailboxes. */
  MAIL_IMAP_SERVER: Endpoint.prefault("127.0.0.1:1143"),
  /** The POP3 server of the mailboxes. */
  MAIL_POP_SERVER: Endpoint.prefault("127.0.0.1:1110"),
  /** The delay of the answer to the first wrong password of a connection, in seconds. */
  MAIL_LOGIN_WAIT: z.coerce.number().int().min(0).max(30).default(3),
});

/** The servers behind the proxy. Reads the environment when it is called, not at import. */
export function mailServers(): Record<Protocol, Endpoint> & { loginWaitSeconds: number } {
  const env = MailServersEnvironment.parse(process.env);
  return {
    smtp: env.MAIL_SMTP_RELAY,
    imap: env.MAIL_IMAP_SERVER,
    pop3: env.MAIL_POP_SERVER,
    loginWaitSeconds: env.MAIL_LOGIN_WAIT,
  };
}
