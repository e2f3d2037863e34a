import { routes } from "../functions/routes.ts";
import { metadataPath, resourcePaths } from "../shared/http/protected-resource.ts";
import type { ProviderName } from "../shared/http/route.ts";

/** One Lambda function: its source file, its access to the table, and the requests that reach it. */
export type LambdaSpec = {
  name: string;
  /** The entry file, relative to the project; it exports `handler`. */
  file: string;
  access: "none" | "read" | "write";
  /** The providers that it uses besides the table. It may seal and open secrets, and sign URLs of files. */
  uses?: readonly ProviderName[];
  /** The time limit of a request, by default 10 seconds. */
  timeoutSeconds?: number;
  /** Its memory, by default 512 MB. The processor share is in proportion: one whole processor at 1,769 MB. */
  memoryMb?: number;
  /** `$default` takes the requests that no other trigger takes. Paths are API Gateway templates. */
  triggers: readonly (`${"GET" | "POST" | "PATCH" | "DELETE"} /${string}` | "$default")[];
};

/** `auth.groups.create` → `functions/auth/groups/create.ts`; `dns_records.list` → `functions/dns-records/list.ts`. */
export const fileOf = (routeName: string): string =>
  `functions/${routeName.replaceAll(".", "/").replaceAll("_", "-")}.ts`;

/** The function that tells the gateway whether a request came through CloudFront, when there is an edge. */
export const originAuthorizer: LambdaSpec = {
  name: "origin_authorizer",
  file: fileOf("origin_authorizer"),
  access: "none",
  timeoutSeconds: 5,
  triggers: [],
};

/** Every Lambda of the product: one per route, and the few entry points that are not routes. */
export const lambdas: readonly LambdaSpec[] = [
  ...routes.map((route): LambdaSpec => ({
    name: route.name,
    file: fileOf(route.name),
    access: route.lambda.table ?? route.access,
    uses: route.lambda.uses,
    // A function that calls other services waits for them up to ten seconds. A function that writes waits for others that
    // write.
    ...(route.access === "write" ? { timeoutSeconds: 25 } : route.limit === "outbound" ? { timeoutSeconds: 20 } : {}),
    ...(route.lambda.heavy ? { timeoutSeconds: 29, memoryMb: 1_769 } : {}),
    triggers: [`${route.http.method} ${route.http.path as `/${string}`}`],
  })),
  {
    name: "code",
    file: "functions/code/handler.ts",
    access: "write",
    uses: [...new Set(routes.flatMap(({ lambda: { uses } }) => uses))],
    timeoutSeconds: 29,
    triggers: ["POST /v1/public/a2a", "POST /v1/public/mcp", "GET /v1/public/functions"],
  },
  {
    name: "protected_resource",
    file: fileOf("protected_resource"),
    access: "none",
    triggers: ["", ...resourcePaths].map((path) => `GET ${metadataPath}${path}` as const),
  },
  {
    name: "workers.payment_webhook",
    file: fileOf("workers.payment_webhook"),
    access: "write",
    uses: ["payments"],
    timeoutSeconds: 20,
    triggers: ["POST /v1/public/webhooks/payments"],
  },
  {
    name: "billing.invoices.download",
    file: fileOf("billing.invoices.download"),
    access: "read",
    triggers: ["GET /v1/public/accounts/{account_id}/billing/invoices/{invoice_id}/pdf"],
  },
  ...(["mail.auth", "mail.recipient"] as const).map((name): LambdaSpec => ({
    name,
    file: fileOf(name),
    access: "write",
    uses: ["secrets", "mail_servers"],
    triggers: [`GET /internal/mail/${name === "mail.auth" ? "auth" : "recipient"}`],
  })),
  {
    name: "docs",
    file: "functions/docs.ts",
    access: "none",
    triggers: [
      "GET /v1/public/openapi.json",
      "GET /.well-known/agent-card.json",
      "GET /docs",
      "GET /docs/{proxy+}",
      "GET /verify",
    ],
  },
  { name: "fallback", file: "functions/fallback.ts", access: "none", triggers: ["$default"] },
];

/** A Lambda function without requests: its source file, its access to the table, and its trigger. */
export type WorkerSpec = {
  name: string;
  /** The entry file, relative to the project; it exports `handler`. */
  file: string;
  access: LambdaSpec["access"];
  /** The kinds of partitions that it may reach. Its role allows no others. Undefined allows all. */
  keys?: readonly string[];
  /** The providers that it uses besides the table. It may open secrets and write files. */
  uses?: LambdaSpec["uses"];
  /** The time limit of a call, by default a minute. */
  timeoutSeconds?: number;
  source: Source;
};

/**
 * The trigger of a worker.
 * - `changes`: the rows that record changes, from the table's stream.
 * - `events`: the events on the bus, of all types or of the listed ones, one event at a time.
 * - `every`: a schedule.
 */
export type Source = "changes" | { events: "all" | readonly string[] } | { every: "minute" | "hour" | "day" };

const spec = (name: string, given: Omit<WorkerSpec, "name" | "file">): WorkerSpec => ({
  name,
  file: fileOf(name),
  ...given,
});

/** Every worker of the product. */
export const workers: readonly WorkerSpec[] = [
  spec("workers.publish_changes", { access: "none", source: "changes" }),
  spec("workers.dispatch_event", { access: "write", uses: ["secrets"], source: { events: "all" } }),
  spec("workers.retry_deliveries", { access: "write", uses: ["secrets"], source: { every: "minute" } }),
  spec("workers.index_journals", {
    access: "write",
    keys: ["ACCOUNT#*", "JOURNAL_DUE#*"],
    source: { every: "minute" },
  }),
  spec("workers.make_mailbox_export", {
    access: "write",
    keys: ["ACCOUNT#*"],
    uses: ["files"],
    timeoutSeconds: 900,
    source: { events: ["mailbox_export.requested"] },
  }),
  spec("workers.send_verification", {
    access: "write",
    keys: ["ACCOUNT#*", "VERIFICATION#*"],
    uses: ["mail"],
    // Shorter than the time reserved for the worker in shared/mail/forwarding/send.ts.
    timeoutSeconds: 30,
    source: { events: ["forwarding.verification_requested"] },
  }),
  spec("workers.advance_domains", {
    access: "write",
    uses: ["secrets", "registrar", "dns"],
    source: { every: "minute" },
  }),
  spec("workers.advance_dedicated_ips", { access: "write", source: { every: "minute" } }),
  spec("workers.ask_checkouts", { access: "write", uses: ["payments"], source: { every: "minute" } }),
  spec("workers.run_billing_day", { access: "write", timeoutSeconds: 900, source: { every: "day" } }),
  spec("workers.check_ledgers", { access: "read", keys: ["ACCOUNT#*", "ACCOUNTS"], source: { every: "hour" } }),
];

/** The requests that reach a Lambda: its triggers, and HEAD for every GET (RFC 9110 §9.3.2). */
export const requestsTo = (triggers: readonly string[]): string[] =>
  triggers.flatMap((trigger) => (trigger.startsWith("GET ") ? [trigger, `HEAD${trigger.slice(3)}`] : [trigger]));
