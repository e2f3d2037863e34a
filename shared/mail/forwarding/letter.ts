import { escapeHtml } from "../../core/text.ts";
import type { Letter } from "../../providers/mail/mail.ts";

/**
 * The mail to be copied: all mail of the account, or the mail of some domains. `hasOthers`: there are other domains,
 * which the letter does not name.
 */
export type LetterScope = { isAll: boolean; domains: readonly string[]; hasOthers: boolean };

export type VerificationLetter = {
  accountName: string;
  scope: LetterScope;
  /** The confirmation page, with its token. */
  link: string;
  code: string;
  linkHours: number;
  codeMinutes: number;
};

const subject = "Confirm that copies of mail may come to this address";

const longestName = 100;

/** A name in one line, cut to a length that cannot dominate the letter. */
const shortened = (name: string): string => {
  const characters = Array.from(name.replaceAll(/\s+/g, " "));
  return characters.length <= longestName
    ? characters.join("")
    : `${characters.slice(0, longestName).join("").trimEnd()}…`;
};

const shownNames = 5;

function whatOf({ isAll, domains, hasOthers }: LetterScope, shown: (text: string) => string): string {
  if (isAll) return "copies of all mail that comes to its mailboxes";
  const names = domains.slice(0, shownNames).map(shown);
  const more = domains.length - names.length;
  const parts = [
    ...names,
    ...(more > 0 ? [`${more} more of its domains`] : []),
    ...(hasOthers ? [names.length === 0 ? "some of its domains" : "some more of its domains"] : []),
  ];
  return `copies of the mail that comes to ${new Intl.ListFormat("en").format(parts)}`;
}

/** The sentences of the letter, for its text and HTML parts. `shown` escapes text that customers wrote. */
function sentences(
  { accountName, scope, linkHours, codeMinutes }: VerificationLetter,
  shown: (text: string) => string,
) {
  return {
    request: `“${shown(shortened(accountName))}”, a customer of Hosted Mail, would like to send ${whatOf(scope, shown)} to you, at this address.`,
    choice: "If you agree, open this page and confirm:",
    linkEnds: `The link works once, within ${linkHours} hours.`,
    ignore:
      "If you do not expect this, you can safely ignore this mail. Unless somebody confirms, you get no copies, and the request expires.",
    code: "Did you ask for the copies yourself? Then you can give this code to the person who sets up the copies with you:",
    codeEnds: `The code works once, within ${codeMinutes} minutes. Give it to nobody else. Anybody who has the code can confirm for you.`,
    about:
      "Our customer chose the name in quotation marks. We have not checked it. This mail was sent automatically, and nobody reads replies to it.",
  };
}

function plainText(asked: VerificationLetter): string {
  const says = sentences(asked, (text) => text);
  return `Hello,

${says.request}

${says.choice}

${asked.link}

${says.linkEnds}

${says.ignore}

${says.code}

    ${asked.code}

${says.codeEnds}

-- 
${says.about}
`;
}

/** Escapes a customer's text so that mail programs make no links of it. */
const unlinked = (text: string): string =>
  escapeHtml(text).replaceAll(/[.:/@]/g, (character) => `<span>${character}</span>`);

// Only the button and the lines have colours, so that the rest follows the reader's own scheme, dark or light.
const styles = {
  body: "margin:0;padding:24px 16px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif",
  main: "max-width:560px;margin:0 auto;overflow-wrap:anywhere",
  paragraph: "margin:0 0 16px",
  button:
    "display:inline-block;padding:12px 24px;border-radius:6px;background:#0b5fff;color:#ffffff;font-weight:600;text-decoration:none",
  small: "margin:0 0 16px;font-size:14px",
  box: "margin:24px 0;padding:16px 16px 0;border:1px solid #8a94a0;border-radius:6px",
  code: "margin:0 0 16px;font:600 28px/1.2 ui-monospace,Menlo,Consolas,monospace;letter-spacing:4px",
  foot: "margin:24px 0 0;padding-top:16px;border-top:1px solid #8a94a0;font-size:14px",
} as const;

function htmlOf(asked: VerificationLetter): string {
  const says = sentences(asked, unlinked);
  const link = escapeHtml(asked.link);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${subject}</title>
</head>
<body style="${styles.body}">
<div style="${styles.main}" role="article" lang="en">
<p style="${styles.paragraph}">Hello,</p>
<p style="${styles.paragraph}">${says.request}</p>
<p style="${styles.paragraph}">${says.choice}</p>
<p style="${styles.paragraph}"><a href="${link}" style="${styles.button}">Review and confirm</a></p>
<p style="${styles.small}">${says.linkEnds} The link leads to:<br><a href="${link}">${link}</a></p>
<p style="${styles.paragraph}">${says.ignore}</p>
<div style="${styles.box}">
<p style="${styles.paragraph}">${says.code}</p>
<p style="${styles.code}">${escapeHtml(asked.code)}</p>
<p style="${styles.small}">${says.codeEnds}</p>
</div>
<p style="${styles.foot}">${says.about}</p>
</div>
</body>
</html>
`;
}

/**
 * The mail that asks somebody whether copies of a customer's mail may go to them. The recipient may never have heard of
 * us. Text that customers wrote is not read as markup, is no link in the HTML part, and is not in the subject.
 */
export const verificationLetter = (asked: VerificationLetter): Pick<Letter, "subject" | "text" | "html"> => ({
  subject,
  text: plainText(asked),
  html: htmlOf(asked),
});
