import { platform } from "../../core/platform.ts";
import type { Table } from "../../table/table.ts";
import { lazy, unconfigured } from "../lazy.ts";
import { type Letter, type Mail, MailEnvironment, type MailSender, senderIn } from "./mail.ts";

const calls = { send: true } as const;

const notConfigured = "No mail provider is configured. Set MAIL_PROVIDER to ses, smtp or embedded.";

// A line break or comma in one of these texts could add another header or another recipient.
const plain = {
  id: /^[A-Za-z0-9._-]{1,64}$/,
  to: /^[^\s\p{C},;:<>()[\]"\\@]{1,64}@[^\s\p{C},;:<>()[\]"\\@]{1,255}$/u,
  subject: /^[^\p{Cc}\p{Zl}\p{Zp}]{1,255}$/u,
};

/** Throws unless the id, the recipient and the subject of the letter are plain texts. */
function requirePlain(letter: Letter): void {
  for (const [member, form] of Object.entries(plain)) {
    if (!form.test(letter[member as keyof typeof plain])) throw new Error(`A letter cannot have this ${member}.`);
  }
}

/** Checks each letter before the provider is loaded. */
const checked = (mail: Mail): Mail => ({
  send: async (letter) => {
    requirePlain(letter);
    await mail.send(letter);
  },
});

const senderOf = ({ MAIL_FROM }: MailEnvironment): MailSender => MAIL_FROM ?? senderIn(platform().mailZone);

async function smtp(env: MailEnvironment): Promise<Mail> {
  const { smtpMail, smtpServer } = await import("./smtp.ts");
  return smtpMail(smtpServer(env), senderOf(env));
}

async function ses(env: MailEnvironment): Promise<Mail> {
  const { sesMail } = await import("./ses.ts");
  const { SES_CONFIGURATION_SET: configurationSet } = env;
  return sesMail(senderOf(env), configurationSet === undefined ? {} : { configurationSet });
}

/**
 * The mail provider that the environment configures. The embedded provider uses the table and the clock. Open the
 * provider once per process, because it keeps a client and a secret. If no provider is configured, this function does
 * not throw, but every call of the provider throws an Error.
 */
export function mailOf(env: MailEnvironment): (table: Table, now: () => Date) => Mail {
  const { MAIL_PROVIDER } = env;
  if (MAIL_PROVIDER === "embedded") {
    return (table, now) =>
      checked(lazy<Mail>(calls, async () => (await import("./embedded.ts")).embeddedMail(table, senderOf(env), now)));
  }
  if (MAIL_PROVIDER === undefined) return () => checked(lazy<Mail>(calls, unconfigured(notConfigured)));
  let loading: Promise<Mail> | undefined;
  const provider = checked(lazy<Mail>(calls, () => (loading ??= MAIL_PROVIDER === "ses" ? ses(env) : smtp(env))));
  return () => provider;
}

let ofProcess: ReturnType<typeof mailOf> | undefined;

/** The mail provider of this process. Reads the environment at the first call, not at import. */
export function mailHere(table: Table, now: () => Date): Mail {
  ofProcess ??= mailOf(MailEnvironment.parse(process.env));
  return ofProcess(table, now);
}

/** Whether a mail provider is configured. Reads the environment when it is called. */
export const hasMail = (): boolean => MailEnvironment.parse(process.env).MAIL_PROVIDER !== undefined;
