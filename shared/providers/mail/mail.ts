import * as z from "zod";

import { MailSender } from "./sender.ts";

/** A mail to one person. `id` is made once by who wrote it: a repeat has the same Message-ID, and so can be known. */
export type Letter = { id: string; to: string; subject: string; text: string; html: string };

/**
 * Sends mail. Resolves once a server has taken it; what cannot be done now throws 503 `upstream_unavailable`, and may
 * have been done. Throws `MailRefused` for a letter that no later try will get through.
 */
export type Mail = { send: (letter: Letter) => Promise<void> };

/** The letter was refused for good. The message says by what reply; no address is in it. */
export class MailRefused extends Error {}

export const MailEnvironment = z
  .object({
    MAIL_PROVIDER: z.enum(["ses", "smtp", "embedded"]).optional(),
    /** Who mail is from: `Hosted Mail <no-reply@…>` in MAIL_ZONE, if not said. */
    MAIL_FROM: MailSender.optional(),
    /** A configuration set of SES, for what becomes of the mail. */
    SES_CONFIGURATION_SET: z.string().min(1).optional(),
    /** The URL of an SMTP server (shared/providers/mail/smtp-url.ts): a secret in Secrets Manager by its name, or the URL itself. */
    SMTP_URL_SECRET_NAME: z.string().min(1).optional(),
    SMTP_URL: z.string().min(1).optional(),
  })
  .refine(({ SMTP_URL_SECRET_NAME, SMTP_URL }) => SMTP_URL_SECRET_NAME === undefined || SMTP_URL === undefined, {
    error: "Give either SMTP_URL_SECRET_NAME or SMTP_URL",
  });
export type MailEnvironment = z.output<typeof MailEnvironment>;
