import type { Operation } from "./operations.ts";

/** A call of an operation in a language. `key` names the language where a reader's choice is remembered. */
export type Sample = { key: string; label: string; language: string; code: string };

/** What the samples of an operation are: the same call in each language, the values of the example, and its answer. */
export type OperationSamples = {
  calls: readonly Sample[];
  /** The values of the example's path and query parameters, by name. */
  values: Readonly<Record<string, string>>;
  body?: unknown;
  answer?: { status: string; body: unknown };
};

/** The samples of an operation, from the examples of the document. */
export function samplesOf(operation: Operation): OperationSamples {
  const values = operation.parameters.flatMap(({ name, schema }) => {
    const [example] = [...(schema.examples ?? []), ...(schema.example === undefined ? [] : [schema.example])];
    return example === undefined ? [] : [[name, String(example)] as const];
  });
  return { calls: [], values: Object.fromEntries(values), body: operation.body?.example };
}
