import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";

import { HostedMail } from "../../client/package/index.ts";
import { exitCodes, Failure } from "./failures.ts";
import { formOf, printAnswer, printNote } from "./output.ts";
import {
  accountFor,
  baseUrlOf,
  clientFor,
  configFile,
  type GlobalOptions,
  profileName,
  readProfile,
  storedLogin,
  writeProfile,
} from "./session.ts";

/** Asks a question on the terminal. A secret answer is not shown. */
async function askFor(question: string, isSecret: boolean): Promise<string> {
  if (!process.stdin.isTTY) throw new Failure("There is no terminal for questions. Use --token-stdin and --base-url.");
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The output of a secret question goes nowhere, so readline cannot show the question.
  if (isSecret) process.stderr.write(question);
  const terminal = createInterface({
    input: process.stdin,
    output: isSecret ? nothing : process.stderr,
    terminal: true,
  });
  try {
    const stopped = new Promise<never>((_, reject) => {
      terminal.once("SIGINT", () => reject(new Failure("Stopped.", exitCodes.stopped)));
    });
    return (await Promise.race([terminal.question(isSecret ? "" : question), stopped])).trim();
  } finally {
    terminal.close();
    if (isSecret) process.stderr.write("\n");
  }
}

type LoginOptions = GlobalOptions & { tokenStdin?: boolean };

/**
 * Stores a token and the address of the API in the profile, after the API has accepted the token. The profile loses its
 * chosen account.
 */
export async function login(options: LoginOptions): Promise<void> {
  const baseUrl = baseUrlOf(options) ?? (await askFor("Address of the API: ", false));
  const token = (options.tokenStdin ? await text(process.stdin) : await askFor("Token (not shown): ", true)).trim();
  if (token === "") throw new Failure("The token is empty.");
  const client = new HostedMail({ baseUrl, token });
  const { id, email } = await client.me.get();
  const { items, total } = await client.accounts.list({ page_size: 1 });
  writeProfile(options, { base_url: baseUrl, token });
  printNote(`Logged in to ${baseUrl} as ${email ?? id}. The token is in ${configFile()}.`);
  if (total === 1) printNote(`Account: ${items[0]?.name}`);
  if (total > 1) printNote(`You have ${total} accounts. Choose one: hosted-mail accounts use ID`);
  if (process.env["HOSTED_MAIL_TOKEN"])
    printNote("HOSTED_MAIL_TOKEN is set. Commands use it instead of the stored token.");
}

/** Removes the profile with its token from this machine. Does not revoke the token. */
export function logout(options: GlobalOptions): void {
  const { token } = readProfile(options);
  writeProfile(options, undefined);
  printNote(
    token === undefined ? "You were not logged in." : "The token is removed from this machine, but not revoked.",
  );
}

/** Prints the owner of the token, the account, the API's address and the profile. */
export async function whoami(options: GlobalOptions): Promise<void> {
  const client = clientFor(options);
  const { id, email } = await client.me.get();
  const account_id = await accountFor(options, client).catch((error: unknown) => {
    if (error instanceof Failure) return null;
    throw error;
  });
  const token = process.env["HOSTED_MAIL_TOKEN"] ? "HOSTED_MAIL_TOKEN" : "stored";
  const answer = { id, email, account_id, base_url: baseUrlOf(options), profile: profileName(options), token };
  printAnswer(answer, formOf(options));
}

/** Makes an account the default of the profile. Throws a `Failure` if the command does not use the stored login. */
export async function useAccount(id: string, options: GlobalOptions): Promise<void> {
  const client = clientFor(options);
  if (!storedLogin(options))
    throw new Failure(
      "Only the stored login can have a chosen account. With another token or address, give --account.",
    );
  const { name } = await client.accounts.get({ account_id: id });
  writeProfile(options, { ...readProfile(options), account_id: id });
  printNote(`Commands of profile ${profileName(options)} now use the account ${name}.`);
}
