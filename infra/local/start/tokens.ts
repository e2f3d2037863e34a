import * as z from "zod";

import { type Answer, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import type { TokenIssuer } from "./issuer.ts";

const TokenRequest = z.strictObject({
  sub: z.string().min(1),
  email: z.email().optional(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
  locale: z.string().optional(),
  groups: z.array(z.string()).optional(),
  /** A year at most. */
  expires_in_seconds: z.int().min(1).max(31_536_000).default(86_400),
});

const refusal = (status: number, message: string): Answer => jsonAnswer(status, { message });

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A page of another site can post a form here, but not JSON: for that its browser asks first, and we say no. */
function mint(issuer: TokenIssuer, { headers, body }: LocalRequest): Answer {
  if (!/^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "")) {
    return refusal(415, "Send the body as `Content-Type: application/json`.");
  }
  const { success, data, error } = TokenRequest.safeParse(parse(body.toString()));
  if (!success) return refusal(422, z.prettifyError(error));
  const { sub, email, first_name: given_name, last_name: family_name, locale, groups } = data;
  const expiresInSeconds = data.expires_in_seconds;
  const token = issuer.mint({ sub, email, given_name, family_name, locale, groups }, { expiresInSeconds });
  return jsonAnswer(201, { token, token_type: "Bearer", expires_in_seconds: expiresInSeconds });
}

/**
 * `/_local/tokens`: GET answers the demo's tokens (503 until it is there), POST mints a token of the
 * embedded issuer for anybody. For whoever sits at this machine; nothing of it is deployed.
 */
export const tokenPaths = (issuer: TokenIssuer, demo: () => unknown): LocalPath[] => [
  {
    method: "GET",
    path: "/_local/tokens",
    handle: () => {
      const tokens = demo();
      return tokens === undefined ? refusal(503, "The demo data is not there yet.") : jsonAnswer(200, tokens);
    },
  },
  { method: "POST", path: "/_local/tokens", handle: (request) => mint(issuer, request) },
];
