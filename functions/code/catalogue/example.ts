import type { Schema } from "../interpreter/types.ts";
import { type CodeFunction, inputSchemaOf } from "./function.ts";

/** The placeholder for an id. */
const someId = "11111111-1111-4111-8111-111111111111";

const formats: Record<string, string> = {
  uuid: someId,
  email: "ada@example.com",
  uri: "https://example.com",
  "date-time": "2026-01-31T09:00:00Z",
};

/**
 * Writes an example call. The call has the required arguments, and the members of the examples of the whole query and
 * the whole body, if they have examples. A value that these examples lack is the first example, choice or default in
 * the value's schema, or a placeholder of its type.
 */
export function exampleOf(fn: CodeFunction): string {
  const { route } = fn;
  const { properties = {}, required = [], $defs = {} } = inputSchemaOf(fn);
  // If a query or a body requires one of several members, `required` names none of these members. The example of the
  // whole query or body then shows one of them.
  const examples = [route.query, route.body].map((part) => part.meta()?.examples?.[0] ?? {});
  const example: Record<string, unknown> = Object.assign({}, ...examples);
  const names = new Set([...required, ...Object.keys(example)]);
  const args = [...names].map((name) => `${name}=${formatLiteral(example[name] ?? valueOf(properties[name], $defs))}`);
  return `${route.name}(${args.join(", ")})`;
}

function valueOf(schema: Schema | boolean | undefined, definitions: Record<string, Schema>): unknown {
  if (typeof schema !== "object") return "…";
  const referred = schema.$ref === undefined ? undefined : definitions[schema.$ref.replace("#/$defs/", "")];
  if (referred) return valueOf(referred, definitions);
  const { examples, example, enum: choices } = schema as Schema & { example?: unknown };
  for (const candidate of [examples?.[0], example, schema.const, choices?.[0], schema.default]) {
    if (candidate !== undefined) return candidate;
  }
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (choice !== undefined) return valueOf(choice, definitions);
  switch (schema.type) {
    case "array":
      return [valueOf(Array.isArray(schema.items) ? schema.items[0] : schema.items, definitions)];
    case "object":
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, valueOf(schema.properties?.[name], definitions)]),
      );
    case "integer":
    case "number":
      return Math.max(1, schema.minimum ?? 1);
    case "boolean":
      return true;
    default:
      return formats[schema.format ?? ""] ?? "…";
  }
}

/** Writes a value as a literal of the language. */
function formatLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatLiteral).join(", ")}]`;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, member]) => `${JSON.stringify(key)}: ${formatLiteral(member)}`)
    .join(", ")}}`;
}
