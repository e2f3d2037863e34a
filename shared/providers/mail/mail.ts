import * as z from "zod";

import { MailSender } from "./sender.ts";

/**
 * A mail to one person. A repeat has the same `id`, and so the same Message-ID, by which mail programs recognise the
 * repeat.
 */
export type Letter = { id: string; to: string; subject: string; text: string; html: string };

/**
 * Sends mail, and resolves once a server has taken the mail.
 * - Throws 503 `upstream_unavailable` when the mail server is unavailable; the mail may still have been sent.
 * - Throws `MailRefused` for a letter that no later try can deliver.
 */
export type Mail = { send: (letter: Letter) => Promise<void> };

/**
 * Thrown for a letter that was refused permanently. The message has the codes of the server's reply, and no address.
 */
export class MailRefused extends Error {}

export const MailEnvironment = z
  .object({
    MAIL_PROVIDER: z.enum(["ses", "smtp", "embedded"]).optional(),
    /** The sender of mail; by default `Hosted Mail <no-reply@…>` in MAIL_ZONE. */
    MAIL_FROM: MailSender.optional(),
    /** A configuration set of SES, which records what happens to the mail. */
    SES_CONFIGURATION_SET: z.string().min(1).optional(),
    /**
     * The URL of an SMTP server (shared/providers/mail/smtp-url.ts): a secret in Secrets Manager by its name, or the
     * URL itself.
     */
    SMTP_URL_SECRET_NAME: z.string().min(1).optional(),
    SMTP_URL: z.string().min(1).optional(),
  })
  .refine(({ SMTP_URL_SECRET_NAME, SMTP_URL }) => SMTP_URL_SECRET_NAME === undefined || SMTP_URL === undefined, {
    error: "Give either SMTP_URL_SECRET_NAME or SMTP_URL, not both",
  });
export type MailEnvironment = z.output<typeof MailEnvironment>;
