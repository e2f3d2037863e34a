import { routes } from "../functions/routes.ts";
import { watchedTypes } from "../shared/billing/recharges/watch.ts";
import { metadataPath, resourcePaths } from "../shared/http/protected-resource.ts";
import type { ProviderName, Route } from "../shared/http/route.ts";
import { revokingTypes } from "../shared/mail/servers/revocations.ts";
import { noticeTypes } from "../shared/notices/notices.ts";

/** One Lambda function: its source file, its access to the table, and the requests that reach it. */
export type LambdaSpec = {
  name: string;
  /** The file that exports `handler`, relative to the project. */
  file: string;
  /** The function's access to the table. */
  access: "none" | "read" | "write";
  /**
   * The providers that the function uses besides the table. With `secrets`, a function may open secrets. If its access
   * is not `read`, it may also seal secrets. With `files`, a function may sign the URLs of files.
   */
  uses?: readonly ProviderName[];
  /** The time limit of a request, in seconds. By default 10. */
  timeoutSeconds?: number;
  /**
   * The memory, in MB. By default 512. The share of the processor grows with the memory: one whole processor at 1,769
   * MB.
   */
  memoryMb?: number;
  /** `$default` matches the requests that no other trigger matches. Paths are API Gateway templates. */
  triggers: readonly (`${"GET" | "POST" | "PATCH" | "DELETE"} /${string}` | "$default")[];
};

/** `auth.groups.create` → `functions/auth/groups/create.ts`; `dns_records.list` → `functions/dns-records/list.ts`. */
export const fileOf = (routeName: string): string =>
  `functions/${routeName.replaceAll(".", "/").replaceAll("_", "-")}.ts`;

/**
 * The function that tells the gateway whether a request came through CloudFront. Only a deployment with an edge has
 * this function.
 */
export const originAuthorizer: LambdaSpec = {
  name: "origin_authorizer",
  file: fileOf("origin_authorizer"),
  access: "none",
  timeoutSeconds: 5,
  triggers: [],
};

/**
 * The function that makes a new key of the mail servers. Secrets Manager calls this function. Only a deployment with a
 * rotation has this function.
 */
export const secretRotator: LambdaSpec = {
  name: "workers.rotate_secret",
  file: fileOf("workers.rotate_secret"),
  access: "none",
  timeoutSeconds: 30,
  triggers: [],
};

/**
 * The function that answers HTTP requests to customers' domains, through a separate HTTP API. Only a deployment with
 * `webHost` has this function.
 */
export const web: LambdaSpec = { name: "web", file: fileOf("web"), access: "read", triggers: ["$default"] };

/**
 * A function that answers only the deployment's mail servers. The endpoint `auth` has the path `/internal/mail/auth`.
 */
const mailEndpoint = (
  method: "GET" | "POST",
  endpoint: string,
  settings: Pick<LambdaSpec, "access" | "uses" | "timeoutSeconds">,
): LambdaSpec => ({
  name: `mail.${endpoint}`,
  file: fileOf(`mail.${endpoint}`),
  triggers: [`${method} /internal/mail/${endpoint}`],
  ...settings,
});

/**
 * The time limit and the memory of a route's function, if they differ from the defaults. A function that calls other
 * services waits for their answer, in at most three attempts of five seconds. A function that writes also waits up to
 * 15 seconds for concurrent writes to the same items.
 */
function limitsOf({ access, limit, lambda: { table, uses, heavy } }: Route): Partial<LambdaSpec> {
  if (heavy) return { timeoutSeconds: 29, memoryMb: 1_769 };
  if (access === "write" || table === "write") return { timeoutSeconds: 25 };
  return limit === "outbound" || uses.length > 0 ? { timeoutSeconds: 20 } : {};
}

/** The Lambdas that answer requests in every deployment: one for each item of `routes`, and the other entry points. */
export const lambdas: readonly LambdaSpec[] = [
  ...routes.map((route): LambdaSpec => ({
    name: route.name,
    file: fileOf(route.name),
    access: route.lambda.table ?? route.access,
    uses: route.lambda.uses,
    ...limitsOf(route),
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
    triggers: [
      "GET /v1/public/accounts/{account_id}/billing/invoices/{invoice_id}/pdf",
      "GET /v1/public/accounts/{account_id}/billing/credit-notes/{credit_note_id}/pdf",
    ],
  },
  mailEndpoint("GET", "auth", { access: "write", uses: ["secrets", "mail_servers"] }),
  mailEndpoint("GET", "recipient", { access: "read", uses: ["mail_servers"] }),
  mailEndpoint("GET", "sender", { access: "read", uses: ["secrets", "mail_servers"] }),
  mailEndpoint("GET", "dkim", { access: "read", uses: ["secrets", "mail_servers"] }),
  mailEndpoint("GET", "revocations", { access: "read", uses: ["mail_servers"] }),
  mailEndpoint("POST", "usage", { access: "write", uses: ["mail_servers"], timeoutSeconds: 25 }),
  mailEndpoint("POST", "events", { access: "write", uses: ["mail_servers"], timeoutSeconds: 25 }),
  {
    name: "docs",
    file: "functions/docs.ts",
    access: "none",
    triggers: [
      "GET /v1/public/openapi.json",
      "GET /.well-known/agent-card.json",
      "GET /llms.txt",
      "GET /docs",
      "GET /docs/{proxy+}",
      "GET /verify",
      "GET /checkout",
      "GET /invitation",
    ],
  },
  { name: "fallback", file: "functions/fallback.ts", access: "none", triggers: ["$default"] },
];

/** A Lambda function that answers no requests: its source file, its access to the table, and its trigger. */
export type WorkerSpec = {
  name: string;
  /** The file that exports `handler`, relative to the project. */
  file: string;
  access: LambdaSpec["access"];
  /** The partition keys that the worker's role allows, with `*` for any characters. By default all. */
  keys?: readonly string[];
  /** Further partition keys, which the worker's role allows only to read. */
  readKeys?: readonly string[];
  /**
   * The providers that the worker uses besides the table. With `secrets`, a worker may open and seal secrets. With
   * `files`, a worker may write files.
   */
  uses?: LambdaSpec["uses"];
  /** Whether the worker may only open secrets, and not seal them. */
  opensOnly?: true;
  /** The time limit of a call, in seconds. By default 60. */
  timeoutSeconds?: number;
  source: Source;
};

/**
 * The trigger of a worker.
 * - `changes`: the rows that record changes, from the table's stream.
 * - `events`: the events on the bus, one event per call. Either all types of events, or only the listed types.
 * - `every`: a schedule.
 */
export type Source = "changes" | { events: "all" | readonly string[] } | { every: "minute" | "hour" };

const workerSpec = (name: string, settings: Omit<WorkerSpec, "name" | "file">): WorkerSpec => ({
  name,
  file: fileOf(name),
  ...settings,
});

/** Every worker of the product. */
export const workers: readonly WorkerSpec[] = [
  workerSpec("workers.publish_changes", { access: "none", source: "changes" }),
  workerSpec("workers.dispatch_event", {
    access: "write",
    uses: ["secrets"],
    opensOnly: true,
    source: { events: "all" },
  }),
  workerSpec("workers.retry_deliveries", {
    access: "write",
    uses: ["secrets"],
    opensOnly: true,
    source: { every: "minute" },
  }),
  workerSpec("workers.index_journals", {
    access: "write",
    keys: ["ACCOUNT#*", "JOURNAL_DUE#*"],
    source: { every: "minute" },
  }),
  workerSpec("workers.make_mailbox_export", {
    access: "write",
    keys: ["ACCOUNT#*"],
    uses: ["files"],
    timeoutSeconds: 900,
    source: { events: ["mailbox_export.requested"] },
  }),
  workerSpec("workers.send_verification", {
    access: "write",
    keys: ["ACCOUNT#*", "VERIFICATION#*"],
    uses: ["mail"],
    // Shorter than `leaseMs` in shared/mail/forwarding/send.ts. So the worker has ended before another call may
    // send the same mail.
    timeoutSeconds: 30,
    source: { events: ["forwarding.verification_requested"] },
  }),
  workerSpec("workers.send_notices", {
    access: "write",
    keys: ["ACCOUNT#*"],
    uses: ["mail"],
    // Shorter than `leaseMs` in shared/notices/send.ts. So the worker has ended before another call may
    // send the same mail.
    timeoutSeconds: 30,
    source: { events: noticeTypes },
  }),
  workerSpec("workers.send_invitation", {
    access: "write",
    keys: ["ACCOUNT#*", "INVITATION#*"],
    uses: ["mail"],
    // Shorter than `leaseMs` in shared/access/invitations/send.ts. So the worker has ended before another call may
    // send the same mail.
    timeoutSeconds: 30,
    source: { events: ["auth.invitation.created", "auth.invitation.replaced"] },
  }),
  workerSpec("workers.note_revocations", {
    access: "write",
    keys: ["REVOCATIONS#*"],
    readKeys: ["ACCOUNT#*"],
    source: { events: revokingTypes },
  }),
  workerSpec("workers.advance_domains", {
    access: "write",
    uses: ["secrets", "registrar", "dns"],
    source: { every: "minute" },
  }),
  workerSpec("workers.advance_dedicated_ips", { access: "write", source: { every: "minute" } }),
  workerSpec("workers.purge_mailboxes", {
    access: "write",
    keys: ["ACCOUNT#*", "USER#*", "MAILBOX_DUE#*"],
    source: { every: "minute" },
  }),
  workerSpec("workers.end_grants", {
    access: "write",
    keys: ["ACCOUNT#*", "USER#*", "GRANT_DUE#*"],
    source: { every: "minute" },
  }),
  workerSpec("workers.ask_checkouts", { access: "write", uses: ["payments"], source: { every: "minute" } }),
  workerSpec("workers.watch_wallets", {
    access: "write",
    keys: ["ACCOUNT#*", "RECHARGE_DUE#*"],
    source: { events: watchedTypes },
  }),
  workerSpec("workers.advance_recharges", { access: "write", uses: ["payments"], source: { every: "minute" } }),
  workerSpec("workers.migrate_rows", {
    access: "write",
    keys: ["ACCOUNT#*", "GRANT_DUE#*", "MIGRATIONS"],
    readKeys: ["ACCOUNTS"],
    // After 40 seconds, a run does not begin another account. But a single account with very many rows takes minutes.
    timeoutSeconds: 300,
    source: { every: "minute" },
  }),
  workerSpec("workers.run_billing_day", { access: "write", timeoutSeconds: 300, source: { every: "minute" } }),
  workerSpec("workers.check_ledgers", { access: "read", keys: ["ACCOUNT#*", "ACCOUNTS"], source: { every: "hour" } }),
];

/** The requests that reach a Lambda: its triggers, and HEAD for every GET (RFC 9110 §9.3.2). */
export const requestsTo = (triggers: readonly string[]): string[] =>
  triggers.flatMap((trigger) => (trigger.startsWith("GET ") ? [trigger, `HEAD${trigger.slice(3)}`] : [trigger]));
