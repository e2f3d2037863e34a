import { request as httpRequest, Agent as HttpAgent } from "node:http";
import { request as httpsRequest, Agent as HttpsAgent } from "node:https";
import { createSecureContext } from "node:tls";

import type { Input, TableOperation, Output } from "./operations.ts";
import { signer, type Credentials } from "./signature.ts";
import { readRefusal, readResponse, requestBody } from "./wire-format.ts";

/** An answer of the table: the output of an operation, or the error of a condition that failed. */
type TableAnswer<O extends TableOperation> = { output: Output<O> } | { refusal: Error };

/** One attempt to send an operation; undefined if anything went wrong, so that the AWS SDK has to send it. */
export type Lane = <O extends TableOperation>(operation: O, input: Input<O>) => Promise<TableAnswer<O> | undefined>;

type ProcessEnvironment = Record<string, string | undefined>;

/** Settings by which the AWS SDK would use another endpoint or other credentials. */
const sdkOnly = ["AWS_PROFILE", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_CREDENTIAL_EXPIRATION"];

/** The regions of the partition whose endpoints are below amazonaws.com. */
const publicRegion = /^(?!cn-|us-gov-|us-iso|eu-isoe-|eusc-)[a-z]{2,}-[a-z]+-\d$/;

/** The address of the table's service; undefined where only the AWS SDK knows. */
function endpointOf(env: ProcessEnvironment, given: string | undefined): { url: URL; region: string } | undefined {
  const { AWS_REGION: region, AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL } = env;
  if (region === undefined || sdkOnly.some((name) => env[name] !== undefined)) return undefined;
  const endpoint = given ?? AWS_ENDPOINT_URL_DYNAMODB ?? AWS_ENDPOINT_URL;
  if (endpoint === undefined) {
    return publicRegion.test(region) ? { url: new URL(`https://dynamodb.${region}.amazonaws.com`), region } : undefined;
  }
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  return url && /^https?:$/.test(url.protocol) && url.pathname === "/" && url.search === ""
    ? { url, region }
    : undefined;
}

/** The credentials in the environment, where Lambda puts those of its role. */
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

/** The longest silence on a connection, in milliseconds. A call of the table takes some ten of them. */
const silenceMs = 1_000;

/** The errors of a request over a connection that the service has closed. */
const closed = new Set(["ECONNRESET", "EPIPE"]);

type Post = (
  headers: Record<string, string>,
  body: string,
) => Promise<{ status: number | undefined; body: string } | undefined>;

/**
 * Posts to a URL over kept-alive connections. Answers undefined if there is no complete response. The service may have
 * closed a kept connection meanwhile: then the request is sent again, over another one.
 */
function poster(url: URL): Post {
  const isSecure = url.protocol === "https:";
  const kept = { keepAlive: true, maxSockets: 50 };
  // Without a context of its own, the agent would make one for each connection.
  const agent = isSecure ? new HttpsAgent({ ...kept, secureContext: createSecureContext() }) : new HttpAgent(kept);
  const begin = isSecure ? httpsRequest : httpRequest;
  const { hostname, port } = url;
  const post: Post = (headers, body) =>
    new Promise((resolve) => {
      const fail = (): void => resolve(undefined);
      const options = { method: "POST", hostname, port, path: "/", headers, agent, timeout: silenceMs };
      const request = begin(options, (response) => {
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
        if (request.reusedSocket && closed.has(error.code ?? "")) resolve(post(headers, body));
        else fail();
      });
      request.end(body);
    });
  return post;
}

/**
 * Opens a lane to DynamoDB: it signs a request, sends it once, and reads a 200 or the refusal of a condition. It decides
 * nothing. Any other status, a broken connection, a time-out and an answer that it cannot read are left to the AWS SDK;
 * so is every operation where the environment has a setting that the lane does not know, or no credentials.
 */
export function openLane(env: ProcessEnvironment, given?: string): Lane {
  const place = env["TABLE_LANE"] === "sdk" ? undefined : endpointOf(env, given);
  if (!place) return async () => undefined;
  const { url, region } = place;
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
      const refusal = answer?.status === 400 ? readRefusal(answer.body) : undefined;
      return refusal && { refusal };
    } catch {
      // A value that cannot be written, a header that cannot be sent, or an answer that cannot be read.
      return undefined;
    }
  };
}
