import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { portOf } from "../../../support/listen.ts";
import type { Rights } from "./rights.ts";
import { account, region, type Deployed } from "./template.ts";

/** The largest number of processes. If there are more, the processes that have been idle the longest end. */
const mostProcesses = 12;

const traces = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"].map((action) => ({ action, resource: "*" }));

type Invocation = { id: string; event: unknown; deadlineMs: number } & PromiseWithResolvers<unknown>;

/** A function: its process if it has one, the event that the process handles, and the events that wait. */
type Instance = {
  child?: ChildProcess;
  /** The request of the process for its next event. */
  idle?: ServerResponse;
  current?: Invocation;
  waiting: Invocation[];
  usedAt: number;
  /** The last output of the process, for error messages. */
  output: string;
};

export type LambdaOptions = {
  template: Deployed;
  rights: Rights;
  /** The folder of the template and of its assets. */
  folder: string;
  /** Variables with the addresses of the stand-ins for AWS. */
  standIns: Record<string, string>;
};

/**
 * The Lambda service of a template. Each function is a process of this Node that loads the function's unpacked asset,
 * with the environment of the template, the variables that Lambda itself sets, and `standIns`. Its access key is the
 * function's logical id. A process starts with the first event, and handles one event at a time.
 */
export class Lambda {
  readonly #options: LambdaOptions;
  readonly #instances = new Map<string, Instance>();
  readonly #server = createServer((request, response) => {
    this.#answer(request.url ?? "", text(request), response).catch(() => response.destroy());
  });
  #port = 0;
  /** The functions that have handled an event, with or without success. */
  readonly started = new Set<string>();
  /** How many processes were started. */
  starts = 0;

  constructor(options: LambdaOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#port = await portOf(this.#server);
  }

  /** Calls a function and returns its result. Rejects with the error of the handler, of the start, or a time-out. */
  async invoke(name: string, event: unknown): Promise<unknown> {
    const { Properties } = this.#function(name);
    const timeoutMs = Number(Properties["Timeout"]) * 1_000;
    const instance = this.#instances.get(name) ?? { waiting: [], usedAt: 0, output: "" };
    this.#instances.set(name, instance);
    const invocation = {
      id: randomUUID(),
      event,
      deadlineMs: Date.now() + timeoutMs,
      ...Promise.withResolvers<unknown>(),
    };
    instance.waiting.push(invocation);
    const timer = setTimeout(() => {
      invocation.reject(new Error(`${name} took longer than ${timeoutMs} ms. ${instance.output}`));
      instance.child?.kill("SIGKILL");
    }, timeoutMs);
    if (!instance.child) this.#startProcess(name, instance);
    this.#handOver(name, instance);
    try {
      return await invocation.promise;
    } finally {
      clearTimeout(timer);
      this.started.add(name);
    }
  }

  async stop(): Promise<void> {
    for (const { child } of this.#instances.values()) child?.kill("SIGKILL");
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The role of a function. */
  roleOf(name: string): string {
    return this.#options.template.idOf(this.#options.template.text(this.#function(name).Properties["Role"]));
  }

  #function(name: string) {
    const found = this.#options.template.resources[name];
    if (found?.Type !== "AWS::Lambda::Function") throw new Error(`The template has no function ${name}`);
    return found;
  }

  #startProcess(name: string, instance: Instance): void {
    this.#endIdle();
    const { template, rights, folder, standIns } = this.#options;
    const { Properties, Metadata = {} } = this.#function(name);
    const root = join(folder, Metadata["aws:asset:path"] ?? "");
    const { LogGroup, ...logging } = Properties["LoggingConfig"] as Record<string, unknown>;
    const logGroup = template.text(LogGroup);
    const stream = `arn:aws:logs:${region}:${account}:log-group:${logGroup}:log-stream:1`;
    // Lambda writes the log, and sends traces, with the rights of the function.
    const own = [
      ...["logs:CreateLogStream", "logs:PutLogEvents"].map((action) => ({ action, resource: stream })),
      ...(Properties["TracingConfig"]?.Mode === "Active" ? traces : []),
    ];
    for (const call of own) rights.check(name, this.roleOf(name), call);
    const child = spawn(process.execPath, [join(import.meta.dirname, "bootstrap.mjs")], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...(template.resolve(Properties["Environment"]?.Variables ?? {}) as Record<string, string>),
        ...standIns,
        PATH: "/usr/local/bin:/usr/bin:/bin",
        LANG: "en_US.UTF-8",
        TZ: ":UTC",
        LAMBDA_TASK_ROOT: root,
        _HANDLER: String(Properties["Handler"]),
        AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${this.#port}/${name}`,
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(Properties["MemorySize"]),
        AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
        AWS_LAMBDA_LOG_GROUP_NAME: logGroup,
        AWS_LAMBDA_LOG_STREAM_NAME: "1",
        AWS_LAMBDA_LOG_FORMAT: String(logging["LogFormat"]),
        AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
        AWS_REGION: region,
        AWS_DEFAULT_REGION: region,
        AWS_ACCESS_KEY_ID: name,
        AWS_SECRET_ACCESS_KEY: "secret",
        AWS_SESSION_TOKEN: "session",
      },
    });
    this.starts += 1;
    instance.child = child;
    instance.usedAt = performance.now();
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (part: Buffer) => (instance.output = (instance.output + part.toString()).slice(-2_000)));
    }
    child.once("exit", () => {
      if (instance.child !== child) return;
      delete instance.child;
      delete instance.idle;
      const error = new Error(`The process of ${name} ended. ${instance.output}`);
      for (const one of [instance.current, ...instance.waiting.splice(0)]) one?.reject(error);
      delete instance.current;
    });
  }

  /** Ends idle processes if there are too many processes, as Lambda does. */
  #endIdle(): void {
    const running = [...this.#instances.values()].filter(({ child }) => child);
    const idle = running.filter(({ idle, waiting }) => idle && waiting.length === 0);
    const surplus = idle
      .toSorted((a, b) => a.usedAt - b.usedAt)
      .slice(0, Math.max(0, running.length + 1 - mostProcesses));
    for (const instance of surplus) {
      instance.child?.kill("SIGKILL");
      delete instance.child;
      delete instance.idle;
    }
  }

  /** Gives the process the next event, if the process is idle and an event waits. */
  #handOver(name: string, instance: Instance): void {
    const { idle } = instance;
    const next = idle && instance.waiting.shift();
    if (!idle || !next) return;
    delete instance.idle;
    instance.current = next;
    instance.usedAt = performance.now();
    idle
      .writeHead(200, {
        "content-type": "application/json",
        "lambda-runtime-aws-request-id": next.id,
        "lambda-runtime-deadline-ms": String(next.deadlineMs),
        "lambda-runtime-invoked-function-arn": `arn:aws:lambda:${region}:${account}:function:${name}`,
      })
      .end(JSON.stringify(next.event));
  }

  /** Answers a request of the Runtime API. */
  async #answer(url: string, sent: Promise<string>, response: ServerResponse): Promise<void> {
    // `/<function>/2018-06-01/runtime/<rest>`
    const [, name = "", , , ...rest] = url.split("/");
    const instance = this.#instances.get(name);
    const body = await sent;
    if (!instance) return void response.writeHead(404).end();
    if (rest.join("/") === "invocation/next") {
      instance.idle = response;
      return this.#handOver(name, instance);
    }
    const { current } = instance;
    delete instance.current;
    if (rest.at(-1) === "response") current?.resolve(JSON.parse(body));
    else {
      const { errorType, errorMessage } = JSON.parse(body);
      const error = new Error(`${name}: ${errorType}: ${errorMessage} ${instance.output}`);
      // Without a current event, the handler could not be loaded, so all waiting events fail.
      for (const one of current ? [current] : instance.waiting.splice(0)) one.reject(error);
    }
    response.writeHead(202).end();
  }
}
