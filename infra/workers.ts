import { fileOf, type LambdaSpec } from "./lambdas.ts";

/** A Lambda function that no request reaches: its source file, what it may do with the table, and what wakes it. */
export type WorkerSpec = {
  name: string;
  /** The entry file, relative to the project; it exports `handler`. */
  file: string;
  access: LambdaSpec["access"];
  /** `changes`: the rows that record changes, from the table's stream. */
  source: "changes";
};

/** Every worker of the product. */
export const workers: readonly WorkerSpec[] = [
  {
    name: "workers.publish_changes",
    file: fileOf("workers.publish_changes"),
    access: "none",
    source: "changes",
  },
];
