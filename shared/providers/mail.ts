import * as z from "zod";

import { platform } from "../domains/platform.ts";
import type { Table } from "../table/table.ts";
import { MailSender, senderIn } from "./mail-sender.ts";

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
    /** The URL of an SMTP server (shared/providers/smtp-url.ts): a secret in Secrets Manager by its name, or the URL itself. */
    SMTP_URL_SECRET_NAME: z.string().min(1).optional(),
    SMTP_URL: z.string().min(1).optional(),
  })
  .refine(({ SMTP_URL_SECRET_NAME, SMTP_URL }) => SMTP_URL_SECRET_NAME === undefined || SMTP_URL === undefined, {
    error: "Give either SMTP_URL_SECRET_NAME or SMTP_URL",
  });
export type MailEnvironment = z.output<typeof MailEnvironment>;

async function missing(): Promise<never> {
  throw new Error("There is nothing to send mail with: set MAIL_PROVIDER to ses, smtp or embedded.");
}

// A line break or a comma more in one of these would be another header, or another recipient.
const plain = {
  id: /^[A-Za-z0-9._-]{1,64}$/,
  to: /^[^\s\p{C},;:<>()[\]"\\@]{1,64}@[^\s\p{C},;:<>()[\]"\\@]{1,255}$/u,
  subject: /^[^\p{Cc}\p{Zl}\p{Zp}]{1,255}$/u,
};

/** Throws for a letter whose id, recipient or subject is more than one. */
function requirePlain(letter: Letter): void {
  for (const [member, form] of Object.entries(plain)) {
    if (!form.test(letter[member as keyof typeof plain])) throw new Error(`A letter cannot have this ${member}.`);
  }
}

/** The mail that is loaded by its first use, as most functions never have one. */
const whenUsed = (load: () => Promise<Mail>): Mail => ({
  send: async (letter) => {
    requirePlain(letter);
    await (await load()).send(letter);
  },
});

const senderOf = ({ MAIL_FROM }: MailEnvironment): MailSender => MAIL_FROM ?? senderIn(platform().mailZone);

async function smtp(env: MailEnvironment): Promise<Mail> {
  const { smtpMail, smtpServer } = await import("./mail-smtp.ts");
  return smtpMail(smtpServer(env), senderOf(env));
}

async function ses(env: MailEnvironment): Promise<Mail> {
  const { sesMail } = await import("./mail-ses.ts");
  const { SES_CONFIGURATION_SET: configurationSet } = env;
  return sesMail(senderOf(env), configurationSet === undefined ? {} : { configurationSet });
}

/**
 * The mail of an environment, over the table and the clock of the embedded outbox; make it once for each process, as it
 * keeps a client and a secret. Without a provider in the environment its first use throws, not this.
 */
export function mailOf(env: MailEnvironment): (table: Table, now: () => Date) => Mail {
  const { MAIL_PROVIDER } = env;
  if (MAIL_PROVIDER === "embedded") {
    return (table, now) =>
      whenUsed(async () => (await import("./mail-embedded.ts")).embeddedMail(table, senderOf(env), now));
  }
  if (MAIL_PROVIDER === undefined) return () => whenUsed(missing);
  let made: Promise<Mail> | undefined;
  const kept = whenUsed(() => (made ??= MAIL_PROVIDER === "ses" ? ses(env) : smtp(env)));
  return () => kept;
}

let ofProcess: ReturnType<typeof mailOf> | undefined;

/** The mail of this process, from its environment, which it needs from the first call on, not at import. */
export function mailHere(table: Table, now: () => Date): Mail {
  ofProcess ??= mailOf(MailEnvironment.parse(process.env));
  return ofProcess(table, now);
}
