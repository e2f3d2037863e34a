import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import type { APIGatewayProxyStructuredResultV2 as Response } from "aws-lambda";

import { preferencesIn, weightFor } from "./preferences.ts";

/** Less than this travels in one packet anyway. */
const smallestBytes = 1_024;

const compressible = /^(?:text\/|application\/(?:[\w.-]+\+)?json\b|image\/svg)/;

type Coding = "br" | "gzip";

const encoders: Record<Coding, (body: string) => Buffer> = {
  br: (body) =>
    brotliCompressSync(body, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
    }),
  gzip: (body) => gzipSync(body),
};

/** The coding that an `Accept-Encoding` prefers (RFC 9110 §12.5.3), `br` where it likes both the same; undefined for none. */
export function codingFor(accepted: string): Coding | undefined {
  const preferences = preferencesIn(accepted);
  const weightOf = (name: string): number => weightFor(preferences, [name, "*"]) ?? 0;
  const best: Coding = weightOf("br") >= weightOf("gzip") ? "br" : "gzip";
  const plain = weightFor(preferences, ["identity"]) ?? 0;
  return weightOf(best) > 0 && weightOf(best) >= plain ? best : undefined;
}

/**
 * The answer in the content coding that is asked for, when it is text of more than 1 KiB. Its entity tag stays as it is:
 * it names the state of a resource, whatever the coding. Secrets are compressed like the rest: what is sent beside one
 * to guess it by the length of the answer (BREACH) needs it sent again and again, and it is shown once.
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
    body: encoders[coding](body).toString("base64"),
    isBase64Encoded: true,
  };
}
