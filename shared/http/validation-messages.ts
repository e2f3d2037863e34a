import type * as z from "zod";

type Issue = z.core.$ZodRawIssue;

const counted = (count: number | bigint, one: string): string =>
  `${count.toLocaleString("en-US")} ${one}${Number(count) === 1 ? "" : "s"}`;

const types: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

const typeName = (type: string): string => types[type] ?? `a value of the type ${type}`;

/** Names the type that was given, if it differs from the expected one. */
function not({ input, expected }: { input?: unknown; expected: string }): string {
  const given = input === null ? "null" : Array.isArray(input) ? "array" : typeof input;
  const isOther =
    given in types && typeName(given) !== typeName(expected) && !(given === "number" && expected === "int");
  return isOther ? `, not ${typeName(given)}` : "";
}

const formats: Record<string, string> = {
  email: "an e-mail address such as ada@example.com",
  url: "a full address such as https://www.example.com/",
  datetime: "a time of RFC 3339 such as 2030-01-31T12:00:00Z",
  date: "a date such as 2030-01-31",
};

type Bound = { origin: string; limit: number | bigint; inclusive?: boolean | undefined };

/** The unit in which a size is counted, by the type of the value. A number has none: its value is compared. */
const units: Record<string, string> = {
  string: "character",
  array: "item",
  set: "item",
  object: "member",
  record: "member",
};

function bound({ origin, limit, inclusive = true }: Bound, [within, beyond]: [within: string, beyond: string]): string {
  const unit = units[origin];
  if (unit !== undefined) return `Write ${within.replace(/^of /, "")} ${counted(limit, unit)}`;
  return `Write a number ${inclusive ? within : beyond} ${limit.toLocaleString("en-US")}`;
}

const shownKeys = 20;
const listValues = (values: readonly unknown[]): string =>
  values.length === 1 ? `Write ${String(values[0])}` : `Write one of ${values.map(String).join(", ")}`;

/**
 * The message for a value that may be one of several things. If the value has the type of one option, it is that
 * option's message; otherwise it lists the types.
 */
function among(options: readonly (readonly z.core.$ZodIssue[])[]): string {
  const firsts = options.flatMap(([first]) => first ?? []);
  const ofType = firsts.find(({ code, path }) => code !== "invalid_type" || path.length > 0);
  if (ofType) return ofType.message;
  const wanted = firsts.flatMap((issue) => (issue.code === "invalid_type" ? typeName(issue.expected) : []));
  return wanted.length > 0 ? `Write ${[...new Set(wanted)].join(" or ")}` : "This is not allowed here";
}

/**
 * An error map of zod, for every schema without its own message: it says what is wrong with a value, as a sentence for
 * a person without its period. A schema with a pattern needs its own message, because this one cannot describe the
 * pattern.
 */
export function inWords(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `Write ${typeName(issue.expected)}${not(issue)}`;
    case "invalid_value":
      return listValues(issue.values);
    case "invalid_format":
      return `Write ${formats[issue.format] ?? "this in the documented form"}`;
    case "too_small":
      return bound({ ...issue, limit: issue.minimum }, ["of at least", "above"]);
    case "too_big":
      return bound({ ...issue, limit: issue.maximum }, ["of at most", "below"]);
    case "not_multiple_of":
      return `Write a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return `Not known here: ${issue.keys.slice(0, shownKeys).join(", ")}`;
    case "invalid_union":
      return among(issue.errors);
    case "invalid_key":
      return "This name is not allowed";
    default:
      return "This is not allowed here";
  }
}
