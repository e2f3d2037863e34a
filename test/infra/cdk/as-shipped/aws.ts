import { randomUUID } from "node:crypto";
import { Agent, createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

import { changeKeyPrefix } from "../../../../shared/changes/history.ts";
import { domainOf } from "../../../../shared/providers/mail/mail.ts";
import { embeddedSecrets } from "../../../../shared/providers/secrets/embedded.ts";
import { portOf } from "../../../support/listen.ts";
import type { Call, Rights } from "./rights.ts";
import { account, region } from "./template.ts";

/** An item as DynamoDB writes it in JSON. */
export type Image = Record<string, { S?: string }>;

/** An entry of PutEvents. */
export type Entry = { Source: string; DetailType: string; Detail: string; Resources: string[]; EventBusName: string };

export type AwsOptions = {
  /** The ARN of the key that seals secrets. */
  keyArn: string;
  rights: Rights;
  /** The address of DynamoDB's engine. */
  engine: string;
  /** The secrets of Secrets Manager, by their names. */
  secrets: Record<string, string>;
  roleOf: (functionName: string) => string;
  onChange: (image: Image) => void;
  onEvents: (entries: Entry[]) => void;
};

type Received = { target: string; url: URL; method: string; headers: IncomingMessage["headers"]; body: Buffer };
type Reply = { status: number; body: string | Buffer; type?: string };
type Json = Record<string, unknown>;

const json = (body: unknown, status = 200): Reply => ({ status, body: JSON.stringify(body) });
const refused = (type: string, message: string, status = 400): Reply => json({ __type: type, message }, status);
const xml = (status: number, body: string): Reply => ({ status, body, type: "application/xml" });

const arn = (service: string, resource: string): string => `arn:aws:${service}:${region}:${account}:${resource}`;

/** The partition of an operation: of its key or its item, or of the condition of its query. */
function partitionOf(operation: Json): string {
  const {
    Key,
    Item,
    KeyConditionExpression,
    ExpressionAttributeNames = {},
    ExpressionAttributeValues = {},
  } = operation;
  const own = (Key ?? Item) as Image | undefined;
  if (own) return own["PK"]?.S ?? "";
  for (const [, name = "", value = ""] of String(KeyConditionExpression).matchAll(/([#\w]+) = (:\w+)/g)) {
    const attribute = (ExpressionAttributeNames as Record<string, string>)[name] ?? name;
    if (attribute === "PK") return (ExpressionAttributeValues as Image)[value]?.S ?? "";
  }
  throw new Error(`The query has no partition: ${JSON.stringify(operation)}`);
}

const transactionActions = {
  Put: "PutItem",
  Update: "UpdateItem",
  Delete: "DeleteItem",
  ConditionCheck: "ConditionCheckItem",
};

/** The rights that an operation of DynamoDB needs. A transaction needs the rights of its parts. */
function tableCalls(operation: string, input: Json): Call[] {
  const call = (action: string, one: Json): Call => ({
    action: `dynamodb:${action}`,
    resource: arn("dynamodb", `table/${String(one["TableName"])}`),
    keys: [partitionOf(one)],
  });
  const parts = (input["TransactItems"] ?? []) as Record<string, Json>[];
  if (operation === "TransactWriteItems") {
    return parts.flatMap((part) =>
      Object.entries(part).map(([kind, one]) => call(transactionActions[kind as keyof typeof transactionActions], one)),
    );
  }
  if (operation === "TransactGetItems") return parts.map((part) => call("GetItem", part["Get"] ?? {}));
  if (operation === "BatchGetItem") {
    return Object.entries(input["RequestItems"] as Record<string, { Keys: Image[] }>).map(([TableName, { Keys }]) => ({
      ...call(operation, { TableName, Key: Keys[0] }),
      keys: Keys.map((key) => key["PK"]?.S ?? ""),
    }));
  }
  return [call(operation, input)];
}

/** The items that an operation of DynamoDB puts. */
function itemsPut(operation: string, input: Json): Image[] {
  if (operation === "PutItem") return [input["Item"] as Image];
  const parts = (input["TransactItems"] ?? []) as { Put?: { Item: Image } }[];
  return parts.flatMap(({ Put }) => (Put ? [Put.Item] : []));
}

/**
 * The services of AWS that the product uses, on one port. Each request is checked against the role of the function
 * whose credentials signed it. A denied request gets the same answer as from AWS. The test itself (the access key
 * `local`) may do everything.
 */
export class Aws {
  readonly #options: AwsOptions;
  readonly #keys = embeddedSecrets(Buffer.from(process.env["SECRETS_KEY"] ?? "", "base64"));
  readonly #objects = new Map<string, Buffer>();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch((error: unknown) => {
      this.problems.push(String(error instanceof Error ? error.stack : error));
      response.destroy();
    });
  });
  /** Requests that this stand-in could not understand. */
  readonly problems: string[] = [];
  readonly letters: Json[] = [];
  url = "";

  constructor(options: AwsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.url = `http://127.0.0.1:${await portOf(this.#server)}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#agent.destroy();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", headers } = request;
    const url = new URL(request.url ?? "/", "http://aws");
    const signed = headers.authorization ?? `Credential=${url.searchParams.get("X-Amz-Credential") ?? ""}`;
    const [, key = "", service = ""] = /Credential=(\w+)\/\d+\/[\w-]+\/([\w-]+)\/aws4_request/.exec(signed) ?? [];
    const target =
      String(headers["x-amz-target"] ?? "")
        .split(".")
        .at(-1) ?? "";
    const received = { target, url, method, headers, body: await buffer(request) };
    const { calls, answer } = this.#understand(service, received);
    const { rights, roleOf } = this.#options;
    // Checks every call, so that the report has all rights that a role lacks.
    const denied = calls.filter((call) => key !== "local" && !rights.check(key, roleOf(key), call));
    const { status, body, type } = denied.length > 0 ? denial(service, denied) : await answer();
    response.writeHead(status, {
      "content-type": type ?? "application/x-amz-json-1.1",
      "x-amzn-requestid": randomUUID(),
    });
    response.end(method === "HEAD" ? undefined : body);
  }

  #understand(service: string, received: Received): { calls: Call[]; answer: () => Reply | Promise<Reply> } {
    const read = (): Json => JSON.parse(received.body.toString()) as Json;
    if (service === "dynamodb") return this.#table(received, read());
    if (service === "kms") return this.#key(received.target, read());
    if (service === "secretsmanager") return this.#secret(received.target, read());
    if (service === "events") return this.#bus(received.target, read());
    if (service === "ses") return this.#mail(read());
    if (service === "s3") return this.#object(received);
    throw new Error(`There is no stand-in for ${received.method} ${received.url.href} of "${service}"`);
  }

  #table({ target, headers, body }: Received, input: Json) {
    const answer = async (): Promise<Reply> => {
      const reply = await this.#askEngine(headers, body);
      if (reply.status === 200) {
        for (const item of itemsPut(target, input))
          if (item["SK"]?.S?.startsWith(changeKeyPrefix)) this.#options.onChange(item);
      }
      return reply;
    };
    return { calls: tableCalls(target, input), answer };
  }

  /**
   * Sends a request to the engine, as if this process had signed it. This is necessary because DynamoDB Local has a
   * database for each access key.
   */
  #askEngine(headers: IncomingMessage["headers"], body: Buffer): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const { AWS_ACCESS_KEY_ID: key = "", AWS_REGION: local = "" } = process.env;
    const { authorization = "", host: _, connection: __, ...others } = headers;
    const signed = authorization.replace(/Credential=\w+(\/\d+)\/[\w-]+/, `Credential=${key}$1/${local}`);
    const options = { method: "POST", agent: this.#agent, headers: { ...others, authorization: signed } };
    const sent = forward(this.#options.engine, options, (answer) => {
      const type = answer.headers["content-type"];
      buffer(answer).then(
        (content) =>
          resolve({ status: answer.statusCode ?? 500, body: content, ...(type === undefined ? {} : { type }) }),
        reject,
      );
    });
    sent.on("error", reject).end(body);
    return promise;
  }

  /**
   * Answers for KMS. A Decrypt without a key id uses the key of the product. The embedded implementation of secrets
   * makes the ciphertext.
   */
  #key(target: string, { KeyId, Plaintext, CiphertextBlob, EncryptionContext }: Json) {
    const context = EncryptionContext as Record<string, string>;
    const answer = async (): Promise<Reply> => {
      if (target === "Encrypt") {
        const sealed = await this.#keys.seal(Buffer.from(String(Plaintext), "base64").toString(), context);
        return json({ KeyId, CiphertextBlob: Buffer.from(sealed).toString("base64") });
      }
      const opened = await this.#keys.open(Buffer.from(String(CiphertextBlob), "base64").toString(), context);
      return json({ KeyId, Plaintext: Buffer.from(opened).toString("base64") });
    };
    return {
      calls: [{ action: `kms:${target}`, resource: typeof KeyId === "string" ? KeyId : this.#options.keyArn }],
      answer,
    };
  }

  #secret(target: string, { SecretId, VersionStage = "AWSCURRENT" }: Json) {
    const name = String(SecretId);
    const text = VersionStage === "AWSCURRENT" ? this.#options.secrets[name] : undefined;
    const answer = (): Reply =>
      text === undefined
        ? refused("ResourceNotFoundException", `Secrets Manager has no ${name} ${String(VersionStage)}`)
        : json({ Name: name, SecretString: text, CreatedDate: Date.now() / 1_000 });
    return {
      calls: [{ action: `secretsmanager:${target}`, resource: arn("secretsmanager", `secret:${name}-AbCdEf`) }],
      answer,
    };
  }

  #bus(target: string, { Entries }: Json) {
    const entries = Entries as Entry[];
    const buses = [...new Set(entries.map(({ EventBusName }) => EventBusName))];
    const answer = (): Reply => {
      this.#options.onEvents(entries);
      return json({ FailedEntryCount: 0, Entries: entries.map(() => ({ EventId: randomUUID() })) });
    };
    return {
      calls: buses.map((bus) => ({ action: `events:${target}`, resource: arn("events", `event-bus/${bus}`) })),
      answer,
    };
  }

  #mail(letter: Json) {
    const { FromEmailAddress: from, ConfigurationSetName: set } = letter as Record<string, string | undefined>;
    const domain = domainOf(/<([^>]+)>/.exec(from ?? "")?.[1] ?? from ?? "");
    const resources = [`identity/${domain}`, ...(set === undefined ? [] : [`configuration-set/${set}`])];
    const answer = (): Reply => {
      this.letters.push(letter);
      return json({ MessageId: randomUUID() });
    };
    return {
      calls: resources.map((resource) => ({ action: "ses:SendEmail", resource: arn("ses", resource) })),
      answer,
    };
  }

  #object({ method, url, body }: Received) {
    const path = decodeURIComponent(url.pathname);
    const resource = `arn:aws:s3:::${path.slice(1)}`;
    const upload = url.searchParams.get("uploadId");
    const action = objectActions[method] ?? "PutObject";
    const answer = (): Reply => {
      if (url.searchParams.has("uploads")) {
        return xml(
          200,
          `<InitiateMultipartUploadResult><UploadId>${randomUUID()}</UploadId></InitiateMultipartUploadResult>`,
        );
      }
      if (upload !== null && method === "PUT") {
        this.#objects.set(upload, Buffer.concat([this.#objects.get(upload) ?? Buffer.alloc(0), body]));
        return xml(200, "");
      }
      if (upload !== null && method === "POST") {
        this.#objects.set(path, this.#objects.get(upload) ?? Buffer.alloc(0));
        return xml(200, "<CompleteMultipartUploadResult><ETag>made</ETag></CompleteMultipartUploadResult>");
      }
      if (method === "PUT") this.#objects.set(path, body);
      if (method === "PUT" || method === "DELETE") return xml(200, "");
      const found = this.#objects.get(path);
      // S3 says that an object is missing only to callers who may list the bucket. Other callers get 403.
      return found
        ? { status: 200, body: found, type: "text/csv" }
        : xml(403, "<Error><Code>AccessDenied</Code></Error>");
    };
    return { calls: [{ action: `s3:${action}`, resource }], answer };
  }
}

/** The rights for requests to S3, by the method. The product deletes no object, but aborts uploads. */
const objectActions: Record<string, string> = {
  GET: "GetObject",
  HEAD: "GetObject",
  DELETE: "AbortMultipartUpload",
};

function denial(service: string, [first]: Call[]): Reply {
  const message = `The role does not allow ${first?.action} on ${first?.resource}`;
  if (service === "s3") return xml(403, `<Error><Code>AccessDenied</Code><Message>${message}</Message></Error>`);
  return refused("AccessDeniedException", message, service === "ses" ? 403 : 400);
}
