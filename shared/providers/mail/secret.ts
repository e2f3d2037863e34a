import * as z from "zod";

import { namedSecret } from "../named-secret.ts";

/** The secret that mail servers present in their requests: its name in Secrets Manager, or the secret itself. */
export const MailSecretEnvironment = z.object({
  MAIL_SECRET_NAME: z.string().min(1).optional(),
  MAIL_SECRET: z.string().min(16).optional(),
});

const Secret = z.string().min(16);

let ofProcess: (() => Promise<string>) | undefined;

async function noSecret(): Promise<never> {
  throw new Error("No secret for the mail servers is configured. Set MAIL_SECRET_NAME or MAIL_SECRET.");
}

/** The secret that the mail servers of this deployment present. Reads the environment at the first call. Throws 503. */
export function mailSecret(): Promise<string> {
  if (!ofProcess) {
    const { MAIL_SECRET_NAME: name, MAIL_SECRET: secret } = MailSecretEnvironment.parse(process.env);
    if (name !== undefined) ofProcess = namedSecret(name, (text) => Secret.parse(text), "at least 16 characters");
    else ofProcess = secret === undefined ? noSecret : async () => secret;
  }
  return ofProcess();
}
