import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { InvalidInput, Problem, type ValidationError } from "../core/errors.ts";
import { keepsDigits } from "../core/number.ts";
import { clipped } from "./input.ts";

export const bodyLimitBytes = 1_048_576;

type SentBody = Pick<APIGatewayProxyEventV2, "headers" | "isBase64Encoded"> & { body: string };

/**
 * Decodes the text of a JSON body. Throws:
 * - 413 for more than 1 MiB;
 * - 415 for a content coding, or a charset that is not UTF-8;
 * - 400 for bytes that are not UTF-8 (RFC 8259 §8.1).
 */
export function bodyText({ body, isBase64Encoded, headers }: SentBody): string {
  const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
  if (bytes.length > bodyLimitBytes) {
    throw new Problem("body_too_large", `The body is too large. It can have ${bodyLimitBytes} bytes at most.`, {
      limit_bytes: bodyLimitBytes,
    });
  }
  checkCoding(headers["content-encoding"]);
  checkCharset(headers["content-type"]);
  if (!isBase64Encoded) {
    if (isReplaced(body, bytes.length, headers["content-length"])) throw notUtf8();
    return body;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notUtf8();
  }
}

const notUtf8 = (): Problem => new Problem("malformed_json", "The body is not UTF-8. JSON must be UTF-8.");

/**
 * Whether API Gateway has replaced bytes that are not UTF-8 by U+FFFD, as far as the length tells: a replacement nearly
 * always changes the length.
 */
const isReplaced = (text: string, bytes: number, contentLength: string | undefined): boolean =>
  text.includes("\ufffd") && contentLength !== undefined && Number(contentLength) !== bytes;

/**
 * Throws 415 for a body in a content coding. The answer has an `Accept-Encoding` that allows plain bodies only (RFC
 * 9110 §8.4, §12.5.3).
 */
function checkCoding(field = "identity"): void {
  if (field.split(",").every((coding) => ["", "identity"].includes(coding.trim().toLowerCase()))) return;
  throw new Problem("unsupported_media_type", "Send the body as it is, without a `Content-Encoding`.", {
    accept_encoding: "identity",
  });
}

function checkCharset(mediaType = ""): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(mediaType)?.[1] ?? "utf-8";
  if (/^utf-?8$/i.test(charset)) return;
  throw new Problem("unsupported_media_type", "Send the body in UTF-8. No other `charset` is accepted.");
}

/** A string, a number or a punctuation mark of a JSON text. White space, `true`, `false` and `null` do not match. */
const tokenPattern = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[[\]{},:]/g;
/** Matches a long number or an exponent. If a text has neither, a double can hold all numbers of the text. */
const mayNotFit = /\d[\d.]{15}|\d[eE]/;
const maxErrors = 100;
/** The most steps of an error's location. */
const maxSteps = 30;

/**
 * The steps to a value in a JSON text. In an object, the last step is undefined until the name of the member is read.
 */
type ValuePath = readonly (string | number | undefined)[];

/**
 * The tokens of a JSON text, each with its path. The path of a `:` ends with the name of the member. All tokens share
 * one list as their path, so read the path before the next token. `text` must be valid JSON, of any depth.
 */
function* tokensOf(text: string): Generator<{ token: string; path: ValuePath }> {
  const path: (string | number | undefined)[] = [];
  let lastString = "";
  for (const [token] of text.matchAll(tokenPattern)) {
    if (token === "{") path.push(undefined);
    else if (token === "[") path.push(0);
    else if (token === "}" || token === "]") path.pop();
    else if (token === ":") path.splice(-1, 1, lastString);
    else if (token === ",") path.push(nextStep(path.pop()));
    else if (token.startsWith('"')) lastString = JSON.parse(token) as string;
    yield { token, path };
  }
}

const locationOf = (path: ValuePath): ValidationError["loc"] => [
  "body",
  ...path.slice(0, maxSteps).map((step) => clipped(step ?? "")),
];

const forbiddenAt = (path: ValuePath): InvalidInput => {
  const error = { msg: "A member with this name is never allowed", type: "extra_forbidden" };
  return new InvalidInput([{ loc: locationOf(path), ...error }]);
};

/**
 * The 422 for the first member of a JSON text that could change an object's prototype: `__proto__`, or a `constructor`
 * with a `prototype`. Undefined if there is none. `text` must be valid JSON, of any depth.
 */
export function forbiddenMember(text: string): InvalidInput | undefined {
  for (const { token, path } of tokensOf(text)) {
    if (token !== ":") continue;
    const [outer, name] = [path.at(-2), path.at(-1)];
    if (name === "__proto__") return forbiddenAt(path);
    if (outer === "constructor" && name === "prototype") return forbiddenAt(path.slice(0, -1));
  }
  return undefined;
}

/**
 * Throws 422 for numbers that a double cannot hold as they are written (RFC 7493 §2.2), with the locations of the first
 * hundred such numbers. `text` must be valid JSON, of any depth.
 */
export function checkFit(text: string): void {
  if (!mayNotFit.test(text)) return;
  const errors: ValidationError[] = [];
  for (const { token, path } of tokensOf(text)) {
    if (!/^[-\d]/.test(token) || keepsDigits(token)) continue;
    errors.push({ loc: locationOf(path), ...notKept });
    if (errors.length === maxErrors) break;
  }
  if (errors.length > 0) throw new InvalidInput(errors);
}

/** The step after a comma: the next index in a list, undefined in an object. */
const nextStep = (step: string | number | undefined): number | undefined =>
  typeof step === "number" ? step + 1 : undefined;

const notKept = {
  msg: "This number is too large or has too many digits to be stored exactly",
  type: "number_not_kept",
};
