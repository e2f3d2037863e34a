import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

import { type ClientOptions, HostedMail } from "../../client/package/index.ts";
import { exitCodes, Failure } from "./failures.ts";

/** The stored settings of one profile. */
export type Profile = { base_url?: string; token?: string; account_id?: string };
type Config = { profiles: Record<string, Profile> };

/** The options that every command has. */
export type GlobalOptions = {
  account?: string;
  baseUrl?: string;
  profile?: string;
  json?: boolean;
  jsonl?: boolean;
};

/** The file of the profiles, in the user's folder for settings. */
export function configFile(): string {
  const { XDG_CONFIG_HOME, APPDATA } = process.env;
  const folder = XDG_CONFIG_HOME || (process.platform === "win32" && APPDATA) || join(homedir(), ".config");
  return join(folder, "hosted-mail", "config.json");
}

function readConfig(): Config {
  try {
    const { profiles } = JSON.parse(readFileSync(configFile(), "utf8")) as Partial<Config>;
    return { profiles: profiles ?? {} };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { profiles: {} };
    throw new Failure(`${configFile()} cannot be read. Correct or delete it. ${(error as Error).message}`);
  }
}

/** Replaces the whole file. Only the file's owner can read it. */
function writeConfig(config: Config): void {
  const file = configFile();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}

/** The name of the profile: `--profile`, then `HOSTED_MAIL_PROFILE`, then `default`. */
export const profileName = ({ profile }: GlobalOptions): string =>
  profile ?? (process.env["HOSTED_MAIL_PROFILE"] || "default");

export const readProfile = (options: GlobalOptions): Profile => readConfig().profiles[profileName(options)] ?? {};

/** Replaces a profile. Removes the profile if `profile` is undefined. */
export function writeProfile(options: GlobalOptions, profile: Profile | undefined): void {
  const { profiles } = readConfig();
  const { [profileName(options)]: _, ...others } = profiles;
  writeConfig({ profiles: profile ? { ...others, [profileName(options)]: profile } : others });
}

/** The API's address: `--base-url`, then `HOSTED_MAIL_BASE_URL`, then the address of the profile. */
export const baseUrlOf = (options: GlobalOptions): string | undefined =>
  options.baseUrl ?? (process.env["HOSTED_MAIL_BASE_URL"] || readProfile(options).base_url);

/**
 * Removes the parts in which two addresses of the same API can differ: slashes at the end, and the path `/v1/public`.
 */
const normal = (baseUrl: string): string => baseUrl.replace(/\/+$/, "").replace(/\/v1\/public$/, "");

/**
 * The profile. Undefined if it does not exist, or if the command uses another token or another address than those of
 * the profile.
 */
export function storedLogin(options: GlobalOptions): Profile | undefined {
  if (process.env["HOSTED_MAIL_TOKEN"]) return undefined;
  const profile = readProfile(options);
  const isSame = profile.base_url !== undefined && normal(profile.base_url) === normal(baseUrlOf(options) ?? "");
  return isSame ? profile : undefined;
}

/**
 * The token: `HOSTED_MAIL_TOKEN`, then the token of the profile. Throws a `Failure` if the profile has no token for the
 * address `baseUrl`.
 */
function tokenOf(options: GlobalOptions, baseUrl: string): string {
  const token = process.env["HOSTED_MAIL_TOKEN"] || storedLogin(options)?.token;
  if (token !== undefined) return token;
  const name = profileName(options);
  const flag = name === "default" ? "" : ` --profile ${name}`;
  throw new Failure(`You are not logged in to ${baseUrl}. Run: hosted-mail login${flag}`, exitCodes.notLoggedIn);
}

/** The client for these options. Throws a `Failure` if there is no address or no token. */
export function clientFor(
  options: GlobalOptions,
  patience: Pick<ClientOptions, "retries" | "longestWaitMs"> = {},
): HostedMail {
  const baseUrl = baseUrlOf(options);
  if (baseUrl === undefined) {
    throw new Failure("Which API? Run: hosted-mail login --base-url https://api.example.com", exitCodes.notLoggedIn);
  }
  const headers = { "User-Agent": `hosted-mail-cli node/${process.versions.node}` };
  return new HostedMail({ baseUrl, token: tokenOf(options, baseUrl), headers, ...patience });
}

/**
 * The account's id: `--account`, then the account of `accounts use` if the command uses the stored login, then the only
 * account of the token. Throws a `Failure` if the token has no account, or has several accounts and none of them was
 * chosen.
 */
export async function accountFor(options: GlobalOptions, client: HostedMail): Promise<string> {
  if (options.account !== undefined) return options.account;
  const login = storedLogin(options);
  if (login?.account_id !== undefined) return login.account_id;
  const { items, total } = await client.accounts.list({ page_size: 2 });
  const [only] = items;
  if (total === 1 && only) return only.id;
  if (total === 0) throw new Failure("Your token has no account.", exitCodes.failed);
  const advice = login ? "Give --account, or choose one: hosted-mail accounts use ID" : "Give --account.";
  throw new Failure(`You have ${total} accounts. ${advice}`);
}
