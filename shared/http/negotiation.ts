import type { APIGatewayProxyStructuredResultV2 as Response } from "aws-lambda";

/** One element of an `Accept` or `Accept-Encoding`, and its weight. A weight of 0 refuses the value. */
type Preference = { value: string; weight: number };

/** The weight in the parameters of an element: 1 without a weight, 0 for an invalid weight. */
const readWeight = (parameters: readonly string[]): number => {
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
    return name === "" ? [] : [{ value: name, weight: readWeight(parameters) }];
  });

/**
 * The weight that an `Accept` gives a media type, by the most specific range that matches (RFC 9110 §12.5.1). The
 * weight is 1 if the field is empty, and 0 if no range matches.
 */
export function weightOfType(accept: string, type: string): number {
  const preferences = preferencesIn(accept);
  return preferences.length === 0 ? 1 : (firstWeight(preferences, [type, `${type.split("/")[0]}/*`, "*/*"]) ?? 0);
}

/**
 * The weight of the first of `names` that the preferences contain; undefined if the preferences contain none of
 * `names`.
 */
const firstWeight = (preferences: readonly Preference[], names: readonly string[]): number | undefined =>
  names.map((name) => preferences.find(({ value }) => value === name)?.weight).find((weight) => weight !== undefined);

/** A body of at most this size fits into one packet, so the body is not worth compressing. */
const uncompressedBytes = 1_024;

const compressible = /^(?:text\/|application\/(?:[\w.-]+\+)?json\b|image\/svg)/;

type Coding = "br" | "gzip";

/** Compresses a text. Loads zlib at the first long answer, so that cold starts without such an answer are faster. */
function encode(coding: Coding, body: string): Buffer {
  const { brotliCompressSync, constants, gzipSync } = process.getBuiltinModule("node:zlib");
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  return coding === "gzip"
    ? gzipSync(body)
    : brotliCompressSync(body, { params: { [BROTLI_PARAM_QUALITY]: 4, [BROTLI_PARAM_SIZE_HINT]: body.length } });
}

/**
 * The coding that an `Accept-Encoding` prefers (RFC 9110 §12.5.3), `br` if both codings have the same weight. Undefined
 * if the client prefers or needs a plain answer.
 */
export function codingFor(accepted: string): Coding | undefined {
  const preferences = preferencesIn(accepted);
  const codingWeight = (name: string): number => firstWeight(preferences, [name, "*"]) ?? 0;
  const best: Coding = codingWeight("br") >= codingWeight("gzip") ? "br" : "gzip";
  const identityWeight = firstWeight(preferences, ["identity"]) ?? 0;
  return codingWeight(best) > 0 && codingWeight(best) >= identityWeight ? best : undefined;
}

/**
 * Compresses an answer in the content coding that the client prefers, if the answer is text of more than 1 KiB.
 * - The entity tag stays the same, because it names the state of a resource in every coding.
 * - Answers with secrets are compressed too. To guess a secret by the length of answers (BREACH), an attacker needs
 *   many answers with the secret. But a secret is sent only once.
 */
export function compressed(response: Response, accepted = ""): Response {
  const { headers = {}, body, isBase64Encoded = false } = response;
  const isText = compressible.test(String(headers["content-type"] ?? ""));
  if (isBase64Encoded || body === undefined || !isText || Buffer.byteLength(body) <= uncompressedBytes) return response;
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
