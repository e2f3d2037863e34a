import type { Letter } from "./mail.ts";
import { type MailSender, domainOf } from "./sender.ts";

/** The headers that prevent automatic replies: of RFC 3834 §5, and for older systems and Exchange. */
export const automaticMailHeaders: Readonly<Record<string, string>> = {
  "Auto-Submitted": "auto-generated",
  Precedence: "bulk",
  "X-Auto-Response-Suppress": "All",
};

/** The Message-ID of a letter (RFC 5322 §3.6.4), the same each time the letter is sent. */
export const messageIdOf = ({ id }: Pick<Letter, "id">, sender: MailSender): string =>
  `<${id}@${domainOf(sender.address)}>`;
