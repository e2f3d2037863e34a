import { letterOf, sentence, shortened, type Sentence } from "../../letters/letter.ts";
import type { Letter } from "../../providers/mail/mail.ts";
import type { StoredInvitation } from "./invitation.ts";

/**
 * The mail that invites somebody to an account. The recipient may never have heard of us. The names and the message of
 * customers are not in the subject.
 */
export function invitationLetter(
  { inviter, message, email, expires_at }: StoredInvitation,
  { accountName, link }: { accountName: string; link: string },
): Pick<Letter, "subject" | "text" | "html"> {
  const who: Sentence = inviter.email === null ? ["Somebody who manages the account"] : [{ quoted: inviter.email }];
  const until = `${expires_at.slice(0, 16).replace("T", " at ")} UTC`;
  return letterOf({
    subject: ["You are invited to an account at Hosted Mail"],
    blocks: [
      { paragraph: sentence`${who} invites you to work in “${shortened(accountName)}”, an account at Hosted Mail.` },
      ...(message === null
        ? []
        : [{ box: [{ paragraph: ["The message to you:"], small: true }, { paragraph: sentence`“${message}”` }] }]),
      { paragraph: ["To see what you are invited to, and to accept it, open this page and sign in:"] },
      {
        button: "See the invitation",
        link,
        remark: sentence`The invitation is for ${email} only, works once, and ends on ${until}.`,
      },
      { paragraph: ["If you do not expect this, you can safely ignore this mail. Then you get no access."] },
    ],
    foot: [
      "The words in quotation marks are those of our customer. We have not checked them. This mail was sent automatically, and nobody reads replies to it.",
    ],
  });
}
