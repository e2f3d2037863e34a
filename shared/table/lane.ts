import { request as httpRequest, Agent as HttpAgent } from "node:http";
import { request as httpsRequest, Agent as HttpsAgent } from "node:https";
import { createSecureContext } from "node:tls";

import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";

import type { Input, TableOperation, Output } from "./operations.ts";
import { signer, type Credentials } from "./signature.ts";

/** The members of inputs that hold an item, a key or expression values, at any depth. */
const inputItems = new Set(["Item", "Key", "ExpressionAttributeValues", "ExclusiveStartKey"]);
const outputItems = new Set(["Item", "Attributes", "LastEvaluatedKey"]);

type Json = Record<string, unknown>;

const toItem = (item: unknown): unknown => marshall(item, { removeUndefinedValues: true });

/**
 * The input with its items, keys and expression values marshalled, at any depth. All other members stay as they are,
 * including `ExpressionAttributeNames`.
 */
function marshalled(input: unknown): unknown {
  if (Array.isArray(input)) return input.map(marshalled);
  if (typeof input !== "object" || input === null) return input;
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      if (value === undefined || name === "ExpressionAttributeNames") return [name, value];
      if (name === "Keys") return [name, (value as unknown[]).map(toItem)];
      return [name, inputItems.has(name) ? toItem(value) : marshalled(value)];
    }),
  );
}

/**
 * A replacer for `JSON.stringify` that writes bytes in base64. The replacer reads the value from the object `this`,
 * because `value` of a Buffer is already the result of `toJSON`.
 */
function withBase64(this: Json, name: string, value: unknown): unknown {
  const own = this[name];
  return own instanceof Uint8Array ? Buffer.from(own.buffer, own.byteOffset, own.byteLength).toString("base64") : value;
}

/** The request body of an operation, in DynamoDB's JSON protocol. */
const requestBody = <O extends TableOperation>(input: Input<O>): string =>
  JSON.stringify(marshalled(input), withBase64);

const bytesOfBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));

/** Turns the base64 text of binary attributes, and of sets of binary values, into bytes, in place. */
function readBytes(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value as Json)) {
    if (name === "B" && typeof inner === "string") (value as Json)[name] = bytesOfBase64(inner);
    else if (name === "BS" && Array.isArray(inner)) (value as Json)[name] = inner.map(bytesOfBase64);
    else readBytes(inner);
  }
}

const fromItem = (item: unknown): Json => unmarshall(item as Parameters<typeof unmarshall>[0]);
const fromItems = (items: unknown): Json[] => (items as unknown[]).map(fromItem);
const mapValues = (object: unknown, each: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(object as object).map(([name, value]) => [name, each(value)]));

/** Reads the output of an operation from a response body. Throws if the body is not the output's JSON. */
function readResponse<O extends TableOperation>(body: string): Output<O> {
  const answer: unknown = JSON.parse(body);
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) throw new Error("Not an output");
  if (/"BS?":/.test(body)) readBytes(answer);
  return Object.fromEntries(
    Object.entries(answer).map(([name, value]) => {
      if (outputItems.has(name)) return [name, fromItem(value)];
      if (name === "Items") return [name, fromItems(value)];
      if (name === "Responses") return [name, mapValues(value, fromItems)];
      if (name !== "UnprocessedKeys") return [name, value];
      return [name, mapValues(value, (unread) => ({ ...(unread as Json), Keys: fromItems((unread as Json)["Keys"]) }))];
    }),
  ) as Output<O>;
}

/**
 * The errors that the lane returns: a condition failed, or a transaction was cancelled, for example by a condition, a
 * conflict or throttling. The SDK does not send an operation again after these errors either.
 */
const finalErrors = new Set(["ConditionalCheckFailedException", "TransactionCanceledException"]);

/** Reads a final error, with the members of the SDK's error, from a response body; undefined for any other error. */
function readFinalError(body: string): Error | undefined {
  const { __type, message, Message = message, ...members } = JSON.parse(body) as Json;
  const name = typeof __type === "string" ? (__type.split("#").at(-1) ?? "") : "";
  if (!finalErrors.has(name) || typeof Message !== "string") return undefined;
  return Object.assign(new Error(Message), members, { name });
}

/** An answer of the table: the output of an operation, or a final error. */
type TableAnswer<O extends TableOperation> = { output: Output<O> } | { error: Error };

/** Sends an operation; returns undefined if the AWS SDK has to send the operation. */
export type Lane = <O extends TableOperation>(operation: O, input: Input<O>) => Promise<TableAnswer<O> | undefined>;

type ProcessEnvironment = Record<string, string | undefined>;

/**
 * Settings that the lane does not know. With one of them, the AWS SDK could use another endpoint or other credentials
 * than the lane, so everything is sent through the SDK.
 */
const sdkOnly = ["AWS_PROFILE", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_CREDENTIAL_EXPIRATION"];

/** The regions of the partition `aws`. Their endpoints are `dynamodb.<region>.amazonaws.com`. */
const publicRegion = /^(?!cn-|us-gov-|us-iso|eu-isoe-|eusc-)[a-z]{2,}-[a-z]+-\d$/;

/**
 * The endpoint of DynamoDB; undefined if only the AWS SDK can find it. `override` is used instead of the endpoint in
 * the environment.
 */
function endpointOf(env: ProcessEnvironment, override: string | undefined): { url: URL; region: string } | undefined {
  const { AWS_REGION: region, AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL } = env;
  if (region === undefined || sdkOnly.some((name) => env[name] !== undefined)) return undefined;
  const endpoint = override ?? AWS_ENDPOINT_URL_DYNAMODB ?? AWS_ENDPOINT_URL;
  if (endpoint === undefined) {
    return publicRegion.test(region) ? { url: new URL(`https://dynamodb.${region}.amazonaws.com`), region } : undefined;
  }
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  return url && /^https?:$/.test(url.protocol) && url.pathname === "/" && url.search === ""
    ? { url, region }
    : undefined;
}

/** The credentials in the environment, where Lambda puts the credentials of the function's role. */
function credentialsOf({
  AWS_ACCESS_KEY_ID,
  AWS_SECRET_ACCESS_KEY,
  AWS_SESSION_TOKEN,
}: ProcessEnvironment): Credentials | undefined {
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) return undefined;
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
  };
}

/** The longest silence on a connection, in milliseconds. A call to the table takes about 10 ms. */
const silenceMs = 1_000;

/** The error codes of a request over a connection that the service has closed. */
const closedCodes = new Set(["ECONNRESET", "EPIPE"]);

type Post = (
  headers: Record<string, string>,
  body: string,
) => Promise<{ status: number | undefined; body: string } | undefined>;

/**
 * Creates a function that posts to a URL over kept-alive connections, and returns undefined if there is no complete
 * response. If the service has closed a kept-alive connection meanwhile, the request is sent again over another
 * connection.
 */
function poster(url: URL): Post {
  const isSecure = url.protocol === "https:";
  const options = { keepAlive: true, maxSockets: 50 };
  // Without this context, the agent would make a context for each connection.
  const agent = isSecure
    ? new HttpsAgent({ ...options, secureContext: createSecureContext() })
    : new HttpAgent(options);
  const begin = isSecure ? httpsRequest : httpRequest;
  const { hostname, port } = url;
  const post: Post = (headers, body) =>
    new Promise((resolve) => {
      const fail = (): void => resolve(undefined);
      const target = { method: "POST", hostname, port, path: "/", headers, agent, timeout: silenceMs };
      const request = begin(target, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () => {
          const body = Buffer.concat(parts).toString();
          resolve(response.complete ? { status: response.statusCode, body } : undefined);
        });
        response.on("error", fail);
        response.on("close", fail);
      });
      request.on("timeout", () => request.destroy(Object.assign(new Error("No answer"), { code: "ETIMEDOUT" })));
      request.on("error", (error: NodeJS.ErrnoException) => {
        if (request.reusedSocket && closedCodes.has(error.code ?? "")) resolve(post(headers, body));
        else fail();
      });
      request.end(body);
    });
  return post;
}

/**
 * Opens a lane to DynamoDB: a small client for the common case, because the AWS SDK takes more processor time. The lane
 * signs and sends a request, and sends it again only if the service has closed the kept-alive connection. The lane
 * returns the output of a 200, or a final error. The AWS SDK has to send the operation in all other cases:
 * - another status, a broken connection, a time-out, or an answer that cannot be read;
 * - an environment without credentials, with `TABLE_LANE=sdk`, or with a setting that the lane does not know;
 * - an input that the lane cannot encode.
 */
export function openLane(env: ProcessEnvironment, endpoint?: string): Lane {
  const service = env["TABLE_LANE"] === "sdk" ? undefined : endpointOf(env, endpoint);
  if (!service) return async () => undefined;
  const { url, region } = service;
  const post = poster(url);
  const sign = signer("dynamodb", region);
  return async <O extends TableOperation>(operation: O, input: Input<O>): Promise<TableAnswer<O> | undefined> => {
    const credentials = credentialsOf(env);
    if (!credentials) return undefined;
    try {
      const body = requestBody<O>(input);
      const headers = {
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": `DynamoDB_20120810.${operation}`,
      };
      const signed = sign({ host: url.host, headers, body }, credentials, new Date());
      const answer = await post(signed, body);
      if (answer?.status === 200) return { output: readResponse<O>(answer.body) };
      const error = answer?.status === 400 ? readFinalError(answer.body) : undefined;
      return error && { error };
    } catch {
      // A value cannot be marshalled, a header cannot be sent, or the answer cannot be read.
      return undefined;
    }
  };
}
