import { ApiError, ConnectionError, HostedMailError } from "../../client/package/index.ts";

/** The exit codes. `docs/cli.md` lists them. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, notLoggedIn: 3, noAnswer: 4, stopped: 130 } as const;

/** A failure that the program itself reports. Its message is one line, usually with advice. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.usage) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Advice on an error, by its code. */
function adviceOf({ code, body, retryAfterSeconds }: ApiError): string {
  const { required_capability: capability } = (body ?? {}) as { required_capability?: string };
  switch (code) {
    case "unauthenticated":
    case "token_expired":
    case "token_revoked":
      return "Log in again: hosted-mail login";
    case "forbidden":
      return capability === undefined ? "Ask an owner of the account for access." : `Ask an owner for ${capability}.`;
    case "rate_limited":
      return `Try again in ${Math.ceil(retryAfterSeconds ?? 60)} seconds.`;
    case "busy":
    case "upstream_unavailable":
      return "Try again in a minute.";
    default:
      return "";
  }
}

/** The invalid arguments of a 422, in the form of the command line: `--local-part` for `body.local_part`. */
const placesOf = ({ errors }: ApiError): string =>
  errors
    .map(({ loc, msg }) => {
      const [part, name = "", ...inside] = loc.map(String);
      const isOption = part === "body" || part === "query";
      return `${isOption ? `--${name.replaceAll("_", "-")}` : name}${inside.map((one) => `.${one}`).join("")}: ${msg}`;
    })
    .join("; ");

/** Matches characters that a terminal could take for a command, such as an escape sequence in a name. */
// oxlint-disable-next-line no-control-regex -- The pattern removes control characters.
const controls = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g;

/** Puts spaces in the place of line breaks and of other characters that a terminal could take for a command. */
export const plainText = (text: string): string => text.replaceAll(controls, " ");

const oneLine = (text: string): string => plainText(text).replaceAll(/ +/g, " ").trim();

/** Returns one line with a message and advice, as two sentences. The advice can be empty. */
const withAdvice = (message: string, advice: string): string =>
  oneLine(advice === "" ? message : `${message.replace(/\.?$/, ".")} ${advice}`);

/** Returns one line of plain text about an error, with advice on some errors, and the exit code of the program. */
export function explain(error: unknown): { line: string; exitCode: number } {
  if (error instanceof Failure) return { line: oneLine(error.message), exitCode: error.exitCode };
  if (error instanceof ApiError) {
    const message = error.errors.length > 0 ? `${error.code}: ${placesOf(error)}` : error.message.replace(/^\d+ /, "");
    // Any other message of an `ApiError` already contains the request's id.
    const id = error.errors.length > 0 && error.requestId !== undefined ? ` (request ${error.requestId})` : "";
    const isTokenRefused = error.status === 401;
    return {
      line: withAdvice(`${message}${id}`, adviceOf(error)),
      exitCode: isTokenRefused ? exitCodes.notLoggedIn : exitCodes.failed,
    };
  }
  if (error instanceof ConnectionError) {
    return { line: withAdvice(error.message, "Check --base-url and the network."), exitCode: exitCodes.noAnswer };
  }
  if (error instanceof HostedMailError || error instanceof TypeError) {
    return { line: oneLine(error.message), exitCode: error instanceof TypeError ? exitCodes.usage : exitCodes.failed };
  }
  return { line: oneLine(error instanceof Error ? error.message : String(error)), exitCode: exitCodes.failed };
}
