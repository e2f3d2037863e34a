import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { bundleDir, bundleProduct } from "../../../../infra/build/bundle.ts";
import { addStack, createApp } from "../../../../infra/cdk/stack.ts";
import { readConfig } from "../../../../infra/config/config.ts";
import { lambdas, workers } from "../../../../infra/entry-points.ts";
import { startGateway, type Gateway } from "../../../../infra/local/server/gateway.ts";
import { Aws, type Entry, type Image } from "./aws.ts";
import { Lambda } from "./lambda.ts";
import { Rights } from "./rights.ts";
import { account, Deployed, region } from "./template.ts";

type Settings = Record<string, unknown>;

type Operation = {
  security?: Record<string, unknown>[];
  "x-amazon-apigateway-integration": { uri: unknown; credentials: unknown };
};
type ApiBody = {
  paths: Record<string, Record<string, Operation>>;
  components?: { securitySchemes: Record<string, { name: string; "x-amazon-apigateway-authorizer": Authorizer }> };
};
type Authorizer = { authorizerUri: unknown; authorizerCredentials: unknown };

type Rule = {
  Targets: { Arn: unknown }[];
  ScheduleExpression?: string;
  EventPattern?: { source: string[]; "detail-type"?: string[] };
};

/** Synthesizes the product with its real bundles into a new folder, and reads the main template. */
async function synthesize(settings: Settings) {
  process.env["CDK_VALIDATION"] = "false";
  const folder = await mkdtemp(join(tmpdir(), "as-shipped-"));
  await bundleProduct();
  const app = createApp(folder);
  const stack = addStack(
    app,
    { lambdas, workers },
    bundleDir,
    readConfig((key) => settings[key], {}),
  );
  const { stacks } = app.synth();
  const artifact = stacks.find(({ stackName }) => stackName === stack.stackName);
  if (!artifact) throw new Error("The app has no template");
  return { folder, template: artifact.template as { Resources: Record<string, unknown> } };
}

export type DeployOptions = {
  settings: Settings;
  secrets: Record<string, string>;
  /** More variables with the addresses of stand-ins. */
  standIns: Record<string, string>;
  /** The headers that CloudFront adds to each request. */
  edgeHeaders: Record<string, string>;
  /** The functions that run as shipped, by their logical ids. The others run in the test's own process. */
  isShipped: (name: string) => boolean;
  /** Answers a request in place of a function that does not run as shipped. */
  answerInstead: (name: string, event: APIGatewayProxyEventV2) => Promise<unknown>;
  /** Changes the template before it is deployed. */
  change?: (template: { Resources: Record<string, unknown> }) => void;
};

/**
 * The product as its template ships it: gateways, functions, the table's stream, rules and schedules, on this machine.
 */
export class Deployment {
  readonly template: Deployed;
  readonly rights: Rights;
  readonly aws: Aws;
  readonly lambda: Lambda;
  /** The errors of gateways and workers. No caller gets these errors. */
  readonly failures: string[] = [];
  #isListening = true;
  readonly #folder: string;
  readonly #options: DeployOptions;
  readonly #gateways: Gateway[] = [];
  #working: Promise<void> = Promise.resolve();
  /** The address of the edge. */
  base = "";
  /** The address of the gateway behind the edge. */
  originBase = "";
  /** The address of the gateway for customers' domains. */
  webBase = "";

  private constructor(options: DeployOptions, folder: string, template: { Resources: Record<string, unknown> }) {
    this.#options = options;
    this.#folder = folder;
    const idOf = (type: string): string =>
      Object.entries(template.Resources).find(([, one]) => (one as { Type: string }).Type === type)?.[0] ?? "";
    const tableId = idOf("AWS::DynamoDB::Table");
    this.template = new Deployed(template, { [tableId]: process.env["TABLE_NAME"] ?? "" });
    this.rights = new Rights(this.template);
    this.aws = new Aws({
      rights: this.rights,
      keyArn: String(this.template.resolve({ "Fn::GetAtt": [idOf("AWS::KMS::Key"), "Arn"] })),
      engine: process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "",
      secrets: options.secrets,
      roleOf: (name) => this.lambda.roleOf(name),
      onChange: (image) => this.#addChange(image),
      onEvents: (entries) => this.#route(entries),
    });
    const standIns: Record<string, string> = { ...options.standIns };
    this.lambda = new Lambda({ template: this.template, rights: this.rights, folder, standIns });
    this.#standIns = standIns;
  }

  /**
   * The variables of the functions with the addresses of stand-ins. `start` adds the address of the stand-in for AWS.
   */
  readonly #standIns: Record<string, string>;

  static async start(options: DeployOptions): Promise<Deployment> {
    const { folder, template } = await synthesize(options.settings);
    options.change?.(template);
    const deployment = new Deployment(options, folder, template);
    await deployment.aws.start();
    const { url } = deployment.aws;
    Object.assign(deployment.#standIns, { AWS_ENDPOINT_URL: url, AWS_ENDPOINT_URL_S3: url });
    await deployment.lambda.start();
    deployment.base = await deployment.#serve("Api", options.edgeHeaders);
    deployment.originBase = await deployment.#serve("Api");
    deployment.webBase = await deployment.#serve("WebApi");
    deployment.#checkDeadLetters();
    return deployment;
  }

  async stop(): Promise<void> {
    for (const gateway of this.#gateways) await gateway.stop();
    await this.lambda.stop();
    await this.aws.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Waits until the workers have handled all changes and events. */
  async settled(): Promise<void> {
    let before: Promise<void>;
    do {
      before = this.#working;
      await before;
    } while (before !== this.#working);
  }

  /** Runs a step that prepares something. No worker hears of the changes of this step. */
  async unheard<T>(prepare: () => Promise<T>): Promise<T> {
    await this.settled();
    this.#isListening = false;
    try {
      return await prepare();
    } finally {
      this.#isListening = true;
    }
  }

  /** Calls each function that a schedule calls, once. */
  async runSchedules(): Promise<void> {
    for (const [rule, { ScheduleExpression, Targets }] of this.#rules()) {
      if (ScheduleExpression === undefined) continue;
      const event = { source: "aws.events", "detail-type": "Scheduled Event", detail: {}, resources: [rule] };
      for (const target of Targets) this.#call(rule, target, event);
    }
    await this.settled();
  }

  #rules(): [string, Rule][] {
    return this.template.ofType("AWS::Events::Rule").map(([id, { Properties }]) => [id, Properties as Rule]);
  }

  /** Serves an HTTP API of the template, with headers that are added to each request. Returns its address. */
  async #serve(id: string, headers: Record<string, string> = {}): Promise<string> {
    const { paths, components } = this.template.properties(id)["Body"] as ApiBody;
    const functions = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => {
        const trigger = path === "$default" ? path : `${method.toUpperCase()} ${path}`;
        const { uri, credentials } = operation["x-amazon-apigateway-integration"];
        const head = operations["head"]?.["x-amazon-apigateway-integration"].uri;
        if (method === "get" && JSON.stringify(head) !== JSON.stringify(uri)) {
          throw new Error(`HEAD ${path} does not lead to the function of GET`);
        }
        return { trigger, name: this.#invokable("the gateway", uri, credentials), operation };
      }),
    );
    const gateway = await startGateway({
      port: 0,
      allowedHosts: "any",
      onError: (name, error) => this.failures.push(`${name}: ${String(error)}`),
      // The gateway adds HEAD for each GET itself.
      functions: functions
        .filter(({ trigger }) => !trigger.startsWith("HEAD "))
        .map(({ trigger, name, operation }) => ({
          name,
          triggers: [trigger],
          handler: async (received: APIGatewayProxyEventV2) => {
            const event = { ...received, headers: { ...received.headers, ...headers } };
            if (operation.security && !(await this.#isAuthorized(components, event))) {
              return { statusCode: 403, body: '{"message":"Forbidden"}' };
            }
            const { isShipped, answerInstead } = this.#options;
            return isShipped(name) ? this.lambda.invoke(name, event) : answerInstead(name, event);
          },
        })),
    });
    this.#gateways.push(gateway);
    return `http://127.0.0.1:${gateway.port}`;
  }

  /**
   * Returns the function that a URI of the gateway leads to. Checks that the role of `credentials` may invoke it.
   */
  #invokable(by: string, uri: unknown, credentials: unknown): string {
    const [, target = ""] = /functions\/(arn:[^/]+)\/invocations$/.exec(this.template.text(uri)) ?? [];
    const role = this.template.idOf(this.template.text(credentials));
    this.rights.check(by, role, { action: "lambda:InvokeFunction", resource: target });
    return this.template.idOf(target);
  }

  readonly #authorized = new Map<string, Promise<boolean>>();

  /**
   * Asks the authorizer as the gateway does, once for each value of its header. A request without the header is
   * refused.
   */
  async #isAuthorized(components: ApiBody["components"], event: APIGatewayProxyEventV2): Promise<boolean> {
    const [scheme] = Object.values(components?.securitySchemes ?? {});
    const value = scheme && event.headers[scheme.name];
    if (scheme === undefined || value === undefined) return false;
    const { authorizerUri, authorizerCredentials } = scheme["x-amazon-apigateway-authorizer"];
    const ask = async (): Promise<boolean> => {
      const name = this.#invokable("the gateway", authorizerUri, authorizerCredentials);
      const asked = { version: "2.0", type: "REQUEST", identitySource: [value], headers: event.headers };
      return ((await this.lambda.invoke(name, asked)) as { isAuthorized: boolean }).isAuthorized;
    };
    const known = this.#authorized.get(value) ?? ask();
    this.#authorized.set(value, known);
    return known;
  }

  /** Sends a new row to the function that reads the table's stream. */
  #addChange(image: Image): void {
    if (this.#isListening) this.#work(() => this.#publish(image));
  }

  async #publish(NewImage: Image): Promise<void> {
    for (const [, { Properties }] of this.template.ofType("AWS::Lambda::EventSourceMapping")) {
      const name = this.#named(Properties["FunctionName"]);
      const stream = this.template.text(Properties["EventSourceArn"]);
      // Lambda reads the stream with the rights of the function.
      for (const action of ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"]) {
        this.rights.check(name, this.lambda.roleOf(name), { action: `dynamodb:${action}`, resource: stream });
      }
      const filters = (Properties["FilterCriteria"].Filters as { Pattern: string }[]).map(({ Pattern }) => Pattern);
      const record = {
        eventID: randomUUID(),
        eventName: "INSERT",
        eventSource: "aws:dynamodb",
        eventSourceARN: stream,
        awsRegion: region,
        dynamodb: { Keys: { PK: NewImage["PK"], SK: NewImage["SK"] }, NewImage, SequenceNumber: randomUUID() },
      };
      const Records = filters.some((filter) => isMatch(JSON.parse(filter), record)) ? [record] : [];
      const result = (await this.lambda.invoke(name, { Records })) as { batchItemFailures: unknown[] };
      if (result.batchItemFailures.length > 0) this.failures.push(`${name}: ${JSON.stringify(result)}`);
    }
  }

  /** Puts an event of an account on the bus. */
  emit(DetailType: string, detail: object): void {
    this.#route([
      { Source: "hosted-mail", DetailType, Detail: JSON.stringify(detail), Resources: [], EventBusName: "" },
    ]);
  }

  /** Sends each event to the targets of all rules that match the event. */
  #route(entries: readonly Entry[]): void {
    for (const { Source, DetailType, Detail, Resources } of entries) {
      const event = {
        source: Source,
        "detail-type": DetailType,
        detail: JSON.parse(Detail) as unknown,
        resources: Resources,
      };
      for (const [rule, { EventPattern, Targets }] of this.#rules()) {
        if (EventPattern && isMatch(EventPattern, event)) for (const target of Targets) this.#call(rule, target, event);
      }
    }
  }

  #call(rule: string, { Arn }: Rule["Targets"][number], event: Record<string, unknown>): void {
    const name = this.template.idOf(this.template.text(Arn));
    const isAllowed = this.template.ofType("AWS::Lambda::Permission").some(([, { Properties }]) => {
      const { FunctionName, SourceArn, Principal } = Properties;
      const isOurs =
        this.template.text(FunctionName) === this.template.text(Arn) && Principal === "events.amazonaws.com";
      return isOurs && this.template.idOf(this.template.text(SourceArn)) === rule;
    });
    if (!isAllowed) this.failures.push(`EventBridge may not invoke ${name} by the rule ${rule}`);
    if (!this.#options.isShipped(name)) return;
    const common = { version: "0", id: randomUUID(), account, region, time: new Date().toISOString() };
    this.#work(async () => void (await this.lambda.invoke(name, { ...common, ...event })));
  }

  /** Checks that Lambda may send the failed calls of each function to the destination in the template. */
  #checkDeadLetters(): void {
    const sources = [
      ...this.template.ofType("AWS::Lambda::EventInvokeConfig"),
      ...this.template.ofType("AWS::Lambda::EventSourceMapping"),
    ];
    for (const [, { Properties }] of sources) {
      const name = this.#named(Properties["FunctionName"]);
      const resource = this.template.text(Properties["DestinationConfig"].OnFailure.Destination);
      this.rights.check(name, this.lambda.roleOf(name), { action: "sqs:SendMessage", resource });
    }
  }

  /** The logical id of a function, from a property with the name or the ARN of the function. */
  #named(value: unknown): string {
    const text = this.template.text(value);
    return text.startsWith("arn:") ? this.template.idOf(text) : text;
  }

  #work(run: () => Promise<void>): void {
    const before = this.#working;
    const ended = run().catch((error: unknown) => void this.failures.push(String(error)));
    this.#working = Promise.all([before, ended]).then(() => undefined);
  }
}

/** Whether a value matches a pattern of EventBridge: lists of values, or `{ prefix }`, at any depth. */
function isMatch(pattern: unknown, value: unknown): boolean {
  if (Array.isArray(pattern)) {
    return pattern.some((one: unknown) =>
      typeof one === "object" && one !== null && "prefix" in one
        ? String(value).startsWith(String(one.prefix))
        : one === value,
    );
  }
  return Object.entries(pattern as object).every(([name, inner]) =>
    isMatch(inner, (value as Record<string, unknown> | undefined)?.[name]),
  );
}
