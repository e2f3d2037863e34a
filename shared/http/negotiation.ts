import type { APIGatewayProxyStructuredResultV2 as Response } from "aws-lambda";

/** One element of a field with a client's preferences, and its weight. A weight of 0 refuses the value. */
type Preference = { value: string; weight: number };

const weightOf = (parameters: readonly string[]): number => {
  const weight = parameters
    .map((text) => /^\s*q\s*=(.*)$/is.exec(text)?.[1]?.trim())
    .find((text) => text !== undefined);
  if (weight === undefined) return 1;
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0;
};

/**
 * Parses the elements of `Accept` or `Accept-Encoding` with their weights (RFC 9110 §12.4.2), in lower case. An element
 * with an invalid weight counts as refused.
 */
const preferencesIn = (field: string): Preference[] =>
  field.split(",").flatMap((element) => {
    const [value = "", ...parameters] = element.split(";");
    const name = value.trim().toLowerCase();
    return name === "" ? [] : [{ value: name, weight: weightOf(parameters) }];
  });

/**
 * The weight that an `Accept` gives a media type, by the most specific range that matches (RFC 9110 §12.5.1); 1 if the
 * field is empty.
 */
export function weightOfType(accept: string, type: string): number {
  const preferences = preferencesIn(accept);
  return preferences.length === 0 ? 1 : (weightFor(preferences, [type, `${type.split("/")[0]}/*`, "*/*"]) ?? 0);
}

/** The weight of the first of `names` that the field lists; undefined if it lists none of them. */
const weightFor = (preferences: readonly Preference[], names: readonly string[]): number | undefined =>
  names.map((name) => preferences.find(({ value }) => value === name)?.weight).find((weight) => weight !== undefined);

/** A smaller body fits into one packet anyway. */
const smallestBytes = 1_024;

const compressible = /^(?:text\/|application\/(?:[\w.-]+\+)?json\b|image\/svg)/;

type Coding = "br" | "gzip";

/** Compresses a text. The module for it is loaded at the first long answer, not at every cold start. */
function encode(coding: Coding, body: string): Buffer {
  const { brotliCompressSync, constants, gzipSync } = process.getBuiltinModule("node:zlib");
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  return coding === "gzip"
    ? gzipSync(body)
    : brotliCompressSync(body, { params: { [BROTLI_PARAM_QUALITY]: 4, [BROTLI_PARAM_SIZE_HINT]: body.length } });
}

/**
 * The coding that an `Accept-Encoding` prefers (RFC 9110 §12.5.3), `br` if it gives both the same weight; undefined for
 * none.
 */
export function codingFor(accepted: string): Coding | undefined {
  const preferences = preferencesIn(accepted);
  const weightOf = (name: string): number => weightFor(preferences, [name, "*"]) ?? 0;
  const best: Coding = weightOf("br") >= weightOf("gzip") ? "br" : "gzip";
  const plain = weightFor(preferences, ["identity"]) ?? 0;
  return weightOf(best) > 0 && weightOf(best) >= plain ? best : undefined;
}

/**
 * Compresses an answer in the content coding that the client asks for, if it is text of more than 1 KiB.
 * - The entity tag stays the same: it names the state of a resource, whatever the coding.
 * - Secrets are compressed like the rest. To guess a secret by the length of answers (BREACH), somebody needs it sent
 *   again and again, but a secret is sent only once.
 */
export function compressed(response: Response, accepted = ""): Response {
  const { headers = {}, body, isBase64Encoded = false } = response;
  const isText = compressible.test(String(headers["content-type"] ?? ""));
  if (isBase64Encoded || body === undefined || !isText || Buffer.byteLength(body) <= smallestBytes) return response;
  const vary = [...new Set([headers["vary"] ?? [], "accept-encoding"].flat())].join(", ");
  const coding = codingFor(accepted);
  if (coding === undefined) return { ...response, headers: { ...headers, vary } };
  return {
    ...response,
    headers: { ...headers, vary, "content-encoding": coding },
    body: encode(coding, body).toString("base64"),
    isBase64Encoded: true,
  };
}
