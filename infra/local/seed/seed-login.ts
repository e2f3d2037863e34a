import { argon2 as argon2Callback, randomBytes } from "node:crypto";
import { promisify } from "node:util";

import type { Login } from "../../../shared/mail/mailboxes/mailbox.ts";
import { loginKey, newPassword, passwordTag, sealContext } from "../../../shared/mail/mailboxes/password.ts";
import type { Secrets } from "../../../shared/providers/secrets/secrets.ts";
import type { Table } from "../../../shared/table/table.ts";

const argon2 = promisify(argon2Callback);

/** The least that RFC 9106 allows: microseconds, where the usual cost is some 25 milliseconds. */
const cost = { memory: 8, passes: 1, parallelism: 1, tagLength: 32 };

const unpadded = (bytes: Buffer): string => bytes.toString("base64").replace(/=+$/, "");

/**
 * A new password like any other, which is revealed and let in like any other; only its hash is cheap. The password is
 * random and has 116 bits: nobody guesses it from the hash all the same.
 */
export async function quickLogin(
  mailbox: Parameters<typeof sealContext>[0],
  work: { table: Table; secrets: Secrets },
): Promise<Login> {
  const password = newPassword();
  const nonce = randomBytes(16);
  const [hash, sealed, key] = await Promise.all([
    argon2("argon2id", { message: Buffer.from(password), nonce, ...cost }),
    work.secrets.seal(password, sealContext(mailbox)),
    loginKey(mailbox.account_id, work),
  ]);
  const { memory, passes, parallelism } = cost;
  const written = `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(hash)}`;
  return { hash: written, sealed, tag: passwordTag(key, password) };
}
