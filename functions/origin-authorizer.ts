import { hash, timingSafeEqual } from "node:crypto";

import type { APIGatewayRequestAuthorizerEventV2, APIGatewaySimpleAuthorizerResult } from "aws-lambda";
import * as z from "zod";

import { namedSecret } from "../shared/providers/named-secret.ts";

const Environment = z.object({ ORIGIN_SECRET_NAME: z.string().min(1) });

/**
 * The accepted values by name. There can be several values, so that a value can be replaced while another is in use.
 */
const OriginSecret = z.record(z.string(), z.string().min(32));

const digest = (text: string): Buffer => hash("sha256", text, "buffer");

let readValues: (() => Promise<string[]>) | undefined;

const acceptedValues = (): Promise<string[]> => {
  readValues ??= namedSecret(
    Environment.parse(process.env).ORIGIN_SECRET_NAME,
    (text) => Object.values(OriginSecret.parse(JSON.parse(text))),
    "JSON of named values of 32 characters or more",
  );
  return readValues();
};

/**
 * Tells whether a request came through CloudFront. Only CloudFront knows a value of `X-Origin-Secret` that is accepted.
 */
export async function handler({
  headers,
}: Pick<APIGatewayRequestAuthorizerEventV2, "headers">): Promise<APIGatewaySimpleAuthorizerResult> {
  const sent = digest(headers?.["x-origin-secret"] ?? "");
  const values = await acceptedValues();
  return { isAuthorized: values.some((value) => timingSafeEqual(digest(value), sent)) };
}
