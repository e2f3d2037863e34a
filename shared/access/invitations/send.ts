import { accountKey, StoredAccount } from "../../accounts/account.ts";
import { hashOfToken, newToken } from "../../core/ids.ts";
import { later } from "../../core/time.ts";
import type { WorkerContext } from "../../http/worker.ts";
import { letterOf, sentence, shortened, type Sentence } from "../../letters/letter.ts";
import { MailRefused, type Mail, type Letter } from "../../providers/mail/mail.ts";
import {
  findInvitation,
  invitationKey,
  invitationStatus,
  type StoredInvitation,
  tokenKey,
  ttlOf,
} from "./invitation.ts";

export type SendWork = WorkerContext & { mail: Mail; publicUrl: string };

/** How long a worker's lease lasts, in milliseconds. No invocation lasts this long. */
const leaseMs = 60_000;

/**
 * Sends the mail of an invitation, if the mail is due and the account is neither suspended nor closed. The token of the
 * link in the mail is new, and exists only in the mail.
 * - A repeated call sends no second mail, except if the first call failed after the mail server had accepted the mail
 *   and before the result was stored. The link in the second mail then replaces the first link.
 * - Throws 503 if the mail server does not answer. Throws an Error while another worker sends the mail. In both cases
 *   the caller has to repeat the call later.
 */
export async function sendInvitation(accountId: string, id: string, work: SendWork): Promise<void> {
  const { table, mail, publicUrl, log } = work;
  const account = await table.get(accountKey(accountId), StoredAccount);
  if (account?.status !== "active" && account?.status !== "past_due") return;
  const token = newToken();
  const leased = await takeLease(accountId, id, token, work);
  if (!leased) return;
  const { version } = leased;
  const settle = (state: StoredInvitation["mail"]) =>
    table.attempt({ update: invitationKey(accountId, id), set: { mail: state, lease_until: "" }, if: { id, version } });
  const letter = invitationLetter(leased, { accountName: account.name, link: `${publicUrl}/invitation#${token}` });
  try {
    await mail.send({ id: `${id}.${version}`, to: leased.email, ...letter });
  } catch (error) {
    if (!(error instanceof MailRefused)) {
      await settle("asked").catch(() => undefined);
      throw error;
    }
    log.info("mail refused", { account_id: accountId, invitation_id: id });
    await settle("refused");
    return;
  }
  await settle("mailed");
}

/**
 * The mail that invites somebody to an account. The recipient has perhaps never heard of us. So the mail's subject has
 * only our own words. It contains no names or messages of customers.
 */
function invitationLetter(
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

/**
 * Takes the lease of a due mail, and stores the hash of the new token in place of the former hash. Returns the changed
 * invitation; undefined if no mail is due. Throws while another worker is sending.
 */
async function takeLease(
  accountId: string,
  id: string,
  token: string,
  { table, now }: SendWork,
): Promise<StoredInvitation | undefined> {
  const token_hash = hashOfToken(token);
  return table.commit(async () => {
    const invitation = await findInvitation(table, accountId, id);
    const at = now();
    const isDue =
      invitation && invitationStatus(invitation, at) === "pending" && ["asked", "sending"].includes(invitation.mail);
    if (!isDue) return { value: undefined, writes: [] };
    const { version, mail, lease_until, expires_at } = invitation;
    if (mail === "sending" && lease_until > at.toISOString()) throw new Error("Another worker is sending this mail.");
    const set = { mail: "sending" as const, lease_until: later(at, leaseMs), token_hash };
    return {
      value: { ...invitation, ...set, version: version + 1 },
      writes: [
        { update: invitationKey(accountId, id), set, add: { version: 1 }, if: { id, version } },
        { put: { ...tokenKey(token_hash), account_id: accountId, invitation_id: id, ttl: ttlOf(expires_at) } },
      ],
    };
  });
}
