import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { InvalidInput, Problem, type ValidationError } from "../core/errors.ts";
import { isKept } from "../core/number.ts";
import { clipped } from "./input.ts";

const limitBytes = 1_048_576;

type Sent = Pick<APIGatewayProxyEventV2, "headers" | "isBase64Encoded"> & { body: string };

/**
 * Decodes the text of a JSON body. Throws:
 * - 413 for more than 1 MiB;
 * - 415 for a content coding, or a charset that is not UTF-8;
 * - 400 for bytes that are not UTF-8 (RFC 8259 §8.1).
 */
export function bodyText({ body, isBase64Encoded, headers }: Sent): string {
  const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
  if (bytes.length > limitBytes) {
    throw new Problem("body_too_large", `The body is too large. It can have ${limitBytes} bytes at most.`, {
      limit_bytes: limitBytes,
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
 * Whether API Gateway replaced bytes that are not UTF-8. It passes JSON on as text with U+FFFD in their place, so that
 * the length of the text differs from that of the request.
 */
const isReplaced = (text: string, bytes: number, contentLength: string | undefined): boolean =>
  text.includes("\ufffd") && contentLength !== undefined && Number(contentLength) !== bytes;

/**
 * Throws 415 for a body in a content coding. The answer says that only plain bodies are accepted (RFC 9110 §8.4,
 * §12.5.3).
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

/** A string, a number or a punctuation mark of a JSON text. White space and words are skipped. */
const tokenPattern = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[[\]{},:]/g;
/** Only a text with a long number or an exponent can contain a number that does not fit. */
const suspicious = /\d[\d.]{15}|\d[eE]/;
const shownErrors = 100;
const shownLevels = 30;

/**
 * Throws 422 for numbers that a double cannot hold as they are written (RFC 7493 §2.2), and names the position of each.
 * `text` is valid JSON of any depth.
 */
export function checkFit(text: string): void {
  if (!suspicious.test(text)) return;
  const errors: ValidationError[] = [];
  /** The path to the current value. A step is undefined in an object whose next member's name is still to come. */
  const path: (string | number | undefined)[] = [];
  let name = "";
  for (const [word] of text.matchAll(tokenPattern)) {
    if (word === "{") path.push(undefined);
    else if (word === "[") path.push(0);
    else if (word === "}" || word === "]") path.pop();
    else if (word === ":") path.splice(-1, 1, name);
    else if (word === ",") path.push(placeAfter(path.pop()));
    else if (word.startsWith('"')) name = JSON.parse(word) as string;
    else if (!isKept(word)) {
      const place = path.slice(0, shownLevels).map((step) => clipped(step ?? ""));
      errors.push({ loc: ["body", ...place], ...notKept });
      if (errors.length === shownErrors) break;
    }
  }
  if (errors.length > 0) throw new InvalidInput(errors);
}

const placeAfter = (place: string | number | undefined): number | undefined =>
  typeof place === "number" ? place + 1 : undefined;

const notKept = {
  msg: "This number is too large or has too many digits to be stored exactly",
  type: "number_not_kept",
};
