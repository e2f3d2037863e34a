import { sendInvitation } from "../../shared/access/invitations/send.ts";
import { mailedKey } from "../../shared/mail/forwarding/target.ts";
import { outbox } from "../../shared/providers/mail/embedded.ts";
import { write } from "./domain-work.ts";
import { sendWork } from "./forwarding.ts";
import { request, type Answer } from "./request.ts";
import { testTable, type Account, type User } from "./world.ts";

type Body = Record<string, unknown>;

/** Invites an address to an account. Removes the mark of earlier mail to the address first. */
export async function inviting(account: Account, email: string, given: Body, as?: User): Promise<Answer> {
  await write({ delete: mailedKey(email) });
  const path = `/v1/public/accounts/${account.id}/auth/invitations`;
  return request("POST", path, { token: (as ?? account.owner).token, body: { email, ...given } });
}

export type Invited = { id: string; email: string; token: string };

/** The last invitation mail to an address, and the token of its link. */
export async function lastInvitation(
  email: string,
): Promise<{ subject: string; text: string; html?: string | undefined; token: string }> {
  const [mail] = await outbox(testTable(), { to: email });
  if (!mail) throw new Error(`nothing was sent to ${email}`);
  return { ...mail, token: /\/invitation#([\w-]+)/.exec(mail.text)?.[1] ?? "" };
}

/** Makes an invitation whose mail was sent. */
export async function invited(
  account: Account,
  { email, as, ...given }: Body & { email: string; as?: User },
): Promise<Invited> {
  const { status, body, text } = await inviting(account, email, given, as);
  if (status !== 201) throw new Error(text);
  await sendInvitation(account.id, String(body.id), sendWork());
  return { id: String(body.id), email, token: (await lastInvitation(email)).token };
}

/** Accepts an invitation as a user. */
export const accepting = (
  { token }: Pick<Invited, "token">,
  user: Pick<User, "token">,
  headers = {},
): Promise<Answer> => request("POST", "/v1/public/invitations/accept", { token: user.token, body: { token }, headers });

/** Reads an invitation, as the holder of its link does. */
export const previewing = ({ token }: Pick<Invited, "token">): Promise<Answer> =>
  request("POST", "/v1/public/invitations/preview", { body: { token } });
