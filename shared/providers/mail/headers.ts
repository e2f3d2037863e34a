import type { Letter } from "./mail.ts";
import { type MailSender, domainOf } from "./sender.ts";

/** Keeps out-of-office replies from coming: RFC 3834 §5, and what older ones and Exchange go by. */
export const automatic: Readonly<Record<string, string>> = {
  "Auto-Submitted": "auto-generated",
  Precedence: "bulk",
  "X-Auto-Response-Suppress": "All",
};

/** RFC 5322 §3.6.4: the same for all that is sent of a letter. */
export const messageIdOf = ({ id }: Pick<Letter, "id">, sender: MailSender): string =>
  `<${id}@${domainOf(sender.address)}>`;
