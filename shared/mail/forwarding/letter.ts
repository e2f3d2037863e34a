import { letterOf, joinTexts, sentence, shortened, type Sentence } from "../../letters/letter.ts";
import type { Letter } from "../../providers/mail/mail.ts";

/**
 * The mail to be copied: all mail of the account (`isAll`), or the mail of the domains and addresses in `names`. With
 * `hasOthers`, mail of domains that the letter does not name is copied too.
 */
export type LetterScope = { isAll: boolean; names: readonly string[]; hasOthers: boolean };

export type VerificationLetter = {
  accountName: string;
  scope: LetterScope;
  /** The confirmation page, with its token. */
  link: string;
  code: string;
  linkHours: number;
  codeMinutes: number;
};

const shownNames = 5;

function whatOf({ isAll, names: all, hasOthers }: LetterScope): Sentence {
  if (isAll) return sentence`copies of all mail that comes to its mailboxes`;
  const names = all.slice(0, shownNames).map((name) => sentence`${name}`);
  const more = all.length - names.length;
  const others = names.length === 0 ? sentence`some of its domains` : sentence`some more of its domains`;
  const parts = [
    ...names,
    ...(more > 0 ? [sentence`${more} more of its domains or addresses`] : []),
    ...(hasOthers ? [others] : []),
  ];
  return sentence`copies of the mail that comes to ${joinTexts(parts)}`;
}

/**
 * The mail that asks its recipient to agree to copies of a customer's mail. The recipient may never have heard of us.
 * Text that customers wrote is not read as markup, is no link in the HTML part, and is not in the subject.
 */
export const verificationLetter = ({
  accountName,
  scope,
  link,
  code,
  linkHours,
  codeMinutes,
}: VerificationLetter): Pick<Letter, "subject" | "text" | "html"> =>
  letterOf({
    subject: sentence`Confirm that copies of mail may come to this address`,
    blocks: [
      {
        paragraph: sentence`“${shortened(accountName)}”, a customer of Hosted Mail, would like to send ${whatOf(scope)} to you, at this address.`,
      },
      { paragraph: sentence`If you agree, open this page and confirm:` },
      {
        button: "Review and confirm",
        link,
        remark: sentence`The link works once, within ${linkHours} hours.`,
      },
      {
        paragraph: sentence`If you do not expect this, you can safely ignore this mail. Unless somebody confirms, you get no copies, and the request expires.`,
      },
      {
        box: [
          {
            paragraph: sentence`Did you ask for the copies yourself? Then you can give this code to the person who sets up the copies with you:`,
          },
          { code },
          {
            paragraph: sentence`The code works once, within ${codeMinutes} minutes. Give it to nobody else. Anybody who has the code can confirm for you.`,
            small: true,
          },
        ],
      },
    ],
    foot: sentence`Our customer chose the name in quotation marks. We have not checked it. This mail was sent automatically, and nobody reads replies to it.`,
  });
