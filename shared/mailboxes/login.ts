import type { Secrets } from "../providers/secrets.ts";
import type { Table } from "../table/table.ts";
import { loginKey } from "./login-key.ts";
import type { Login } from "./mailbox.ts";
import { hashPassword, newPassword, passwordTag } from "./password.ts";

type Work = { table: Table; secrets: Secrets };

/** What a mailbox's sealed password is bound to. */
export const sealContext = (accountId: string): Record<string, string> => ({
  account_id: accountId,
  purpose: "mailbox_password",
});

/** A new password nobody has seen: its hash, and a sealed copy to be revealed once. 503. */
export async function newLogin(accountId: string, work: Work): Promise<Login> {
  const password = newPassword();
  const [hash, sealed, key] = await Promise.all([
    hashPassword(password),
    work.secrets.seal(password, sealContext(accountId)),
    loginKey(accountId, work),
  ]);
  return { hash, sealed, tag: passwordTag(key, password) };
}
