import { createHash } from "node:crypto";

import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Table } from "../../table/table.ts";
import { loginKey } from "./login-key.ts";
import type { Login } from "./mailbox.ts";
import { hashPassword, newPassword, passwordTag } from "./password.ts";

type Work = { table: Table; secrets: Secrets };

type Place = { account_id: string; domain_id: string; local_part: string };

/**
 * What a mailbox's sealed password is bound to: its account and its address, which no other mailbox has while it is
 * there. Hashed, as AWS logs it.
 */
export const sealContext = ({ account_id, domain_id, local_part }: Place): Record<string, string> => ({
  account_id,
  mailbox: createHash("sha256").update(`${domain_id}/${local_part}`).digest("hex"),
  purpose: "mailbox_password",
});

/** A new password nobody has seen: its hash, and a sealed copy to be revealed once. 503. */
export async function newLogin(mailbox: Place, work: Work): Promise<Login> {
  const password = newPassword();
  const [hash, sealed, key] = await Promise.all([
    hashPassword(password),
    work.secrets.seal(password, sealContext(mailbox)),
    loginKey(mailbox.account_id, work),
  ]);
  return { hash, sealed, tag: passwordTag(key, password) };
}
