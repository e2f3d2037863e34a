import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import { rotatingSecret } from "../named-secret.ts";

const Key = z.string().min(16);

/**
 * The keys that mail servers present in their requests: the name of a secret in Secrets Manager, or the keys
 * themselves. `MAIL_SECRET` has one key. During a rotation, it has two keys, separated by a comma.
 */
export const MailSecretEnvironment = z.object({
  MAIL_SECRET_NAME: z.string().min(1).optional(),
  MAIL_SECRET: z
    .string()
    .min(16)
    .refine((text) => keysIn(text).length <= 2 && keysIn(text).every((key) => Key.safeParse(key).success), {
      error: "Write one key of 16 characters or more, or two that are separated by a comma",
    })
    .optional(),
});

const keysIn = (text: string): string[] => text.split(",");

const shape = "at least 16 characters";

let stored: (() => Promise<string[]>) | undefined;

/**
 * The keys that the mail servers of this deployment present, one or two. Reads the environment when it is called.
 * Throws:
 * - 503 `upstream_unavailable` if Secrets Manager does not answer;
 * - 503 `mail_servers_unavailable` if no key is configured.
 */
export async function mailKeys(): Promise<string[]> {
  const { MAIL_SECRET_NAME: name, MAIL_SECRET: keys } = MailSecretEnvironment.parse(process.env);
  if (name !== undefined) return (stored ??= rotatingSecret(name, (text) => Key.parse(text), shape))();
  if (keys !== undefined) return keysIn(keys);
  throw new Problem("mail_servers_unavailable", "No secret of the mail servers is configured.");
}
