import { exampleOf } from "../../openapi/examples.ts";
import { samplesOf } from "../../openapi/samples.ts";
import type { ReferenceOperation } from "./operations.ts";

/**
 * The code that calls an operation in one language. `key` names the language in the browser's storage, where the page
 * keeps the reader's choice.
 */
type SampleCall = { key: string; label: string; language: string; code: string };

/** The example of an operation: the call in each language, the values of its parameters, its body and its answer. */
export type Example = {
  calls: readonly SampleCall[];
  /** The values of the path and query parameters, by name. */
  values: Readonly<Record<string, string>>;
  body: unknown;
  answer: { status: number; body: unknown };
};

/** The example of an operation: a call with its recorded answer, and samples of code that make the call. */
export function exampleFor({ id }: ReferenceOperation): Example {
  const { path, query, body, status, answer } = exampleOf(id);
  return {
    calls: samplesOf(id).map(({ id: key, label, language, source }) => ({ key, label, language, code: source })),
    values: Object.fromEntries(Object.entries({ ...path, ...query }).map(([name, value]) => [name, String(value)])),
    body,
    answer: { status, body: answer },
  };
}
