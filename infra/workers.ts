import { fileOf, type LambdaSpec } from "./lambdas.ts";

/** A Lambda function that no request reaches: its source file, what it may do with the table, and what wakes it. */
export type WorkerSpec = {
  name: string;
  /** The entry file, relative to the project; it exports `handler`. */
  file: string;
  access: LambdaSpec["access"];
  /** The partitions that it reaches, where they are few kinds: its role allows no others. */
  keys?: readonly string[];
  /** What it uses beside the table: `secrets` opens what was sealed, `files` writes, `mail` sends. */
  uses?: LambdaSpec["uses"];
  /** How long a call may take it, if not a minute. */
  timeoutSeconds?: number;
  source: Source;
};

/**
 * What wakes a worker. `changes`: the rows that record changes, from the table's stream. `events`: what is published
 * on the bus, of all types or of these, one event at a time. `every`: the time.
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
    // Shorter than a worker is left to it: shared/mail/forwarding/send.ts.
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
