import { fileOf, type LambdaSpec } from "./lambdas.ts";

/** A Lambda function that no request reaches: its source file, what it may do with the table, and what wakes it. */
export type WorkerSpec = {
  name: string;
  /** The entry file, relative to the project; it exports `handler`. */
  file: string;
  access: LambdaSpec["access"];
  /** What it uses beside the table: `secrets` opens what was sealed. */
  uses?: LambdaSpec["uses"];
  /**
   * `changes`: the rows that record changes, from the table's stream. `events`: what is published on the bus, one
   * event at a time. `schedule`: every minute.
   */
  source: "changes" | "events" | "schedule";
};

const spec = (name: string, given: Omit<WorkerSpec, "name" | "file">): WorkerSpec => ({
  name,
  file: fileOf(name),
  ...given,
});

/** Every worker of the product. */
export const workers: readonly WorkerSpec[] = [
  spec("workers.publish_changes", { access: "none", source: "changes" }),
  spec("workers.dispatch_event", { access: "write", uses: ["secrets"], source: "events" }),
  spec("workers.retry_deliveries", { access: "write", uses: ["secrets"], source: "schedule" }),
];
