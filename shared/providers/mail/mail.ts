import * as z from "zod";

/** The sender of mail: a name in printable ASCII (it may be empty) and an address. */
export type MailSender = { name: string; address: string };

const addressPattern = String.raw`[a-z0-9!#$%&'*+/=?^_{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]`;
const senderForm = new RegExp(
  String.raw`^(?:(?<name>[^\x00-\x1f"\\<>\x7f-\uffff]{1,100}?) +<(?<of>${addressPattern})>|(?<alone>${addressPattern}))$`,
);

/** `Hosted Mail <no-reply@example.com>`, or an address alone. */
export const MailSender = z
  .string()
  .regex(senderForm, { error: "Write the sender as in: Hosted Mail <no-reply@example.com>", abort: true })
  .transform((text): MailSender => {
    const { name = "", of, alone = "" } = senderForm.exec(text)?.groups ?? {};
    return { name: name.trim(), address: of ?? alone };
  });

/** The default sender: an address in the zone of the mail hosts. */
export const senderIn = (mailZone: string): MailSender => ({ name: "Hosted Mail", address: `no-reply@${mailZone}` });

/** A sender as written in a header: `"Hosted Mail" <no-reply@example.com>`. */
export const writtenSender = ({ name, address }: MailSender): string =>
  name === "" ? address : `"${name}" <${address}>`;

/** The domain of an address. */
export const domainOf = (address: string): string => address.slice(address.lastIndexOf("@") + 1);

/**
 * A mail to one person. A repeat has the same `id`, and so the same Message-ID, by which mail programs recognise the
 * repeat. But if SES sends the mail, each repeat gets a new Message-ID.
 */
export type Letter = { id: string; to: string; subject: string; text: string; html: string };

/**
 * Sends mail, and resolves once a server has accepted the mail.
 * - Throws 503 `upstream_unavailable` when the mail server is unavailable; the mail may still have been sent.
 * - Throws `MailRefused` for a letter that no later try can deliver.
 */
export type Mail = { send: (letter: Letter) => Promise<void> };

/**
 * Thrown for a letter that was refused permanently. The message has the codes of the server's reply, and no address.
 */
export class MailRefused extends Error {}

/** The headers that prevent automatic replies: one of RFC 3834 §5, one for older systems, and one for Exchange. */
export const automaticMailHeaders: Readonly<Record<string, string>> = {
  "Auto-Submitted": "auto-generated",
  Precedence: "bulk",
  "X-Auto-Response-Suppress": "All",
};

/**
 * The Message-ID of a letter (RFC 5322 §3.6.4), the same each time the letter is sent. SES does not use this
 * Message-ID.
 */
export const messageIdOf = ({ id }: Pick<Letter, "id">, sender: MailSender): string =>
  `<${id}@${domainOf(sender.address)}>`;

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
