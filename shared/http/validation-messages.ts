import * as z from "zod";

type Issue = z.core.$ZodRawIssue;

const counted = (count: number | bigint, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${Number(count) === 1 ? "" : "s"}`;

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

function typeOfInput(input: unknown): string {
  if (input === null) return "null";
  return Array.isArray(input) ? "array" : typeof input;
}

/** The end of the message that names the type of the input: `, not a string`. Empty if the type is as expected. */
function actualTypeEnding({ input, expected }: { input?: unknown; expected: string }): string {
  const actual = typeOfInput(input);
  const differs =
    actual in types && typeName(actual) !== typeName(expected) && !(actual === "number" && expected === "int");
  return differs ? `, not ${typeName(actual)}` : "";
}

const formats: Record<string, string> = {
  email: "an e-mail address such as ada@example.com",
  url: "a full address such as https://www.example.com/",
  datetime: "a time of RFC 3339 such as 2030-01-31T12:00:00Z",
  date: "a date such as 2030-01-31",
};

type Bound = { origin: string; limit: number | bigint; inclusive?: boolean | undefined };

/** The unit of a value's size, by the type of the value. A number has no unit, because its value is compared. */
const units: Record<string, string> = {
  string: "character",
  array: "item",
  set: "item",
  object: "member",
  record: "member",
};

/** The message for a size or a number that is out of bounds. `words` name an inclusive and an exclusive bound. */
function boundMessage(
  { origin, limit, inclusive = true }: Bound,
  words: { inclusive: "at least" | "at most"; exclusive: "above" | "below" },
): string {
  const unit = units[origin];
  if (unit !== undefined) return `Write ${words.inclusive} ${counted(limit, unit)}`;
  return `Write a number ${inclusive ? `of ${words.inclusive}` : words.exclusive} ${limit.toLocaleString("en-US")}`;
}

const maxKeys = 20;

const listValues = (values: readonly unknown[]): string =>
  values.length === 1 ? `Write ${String(values[0])}` : `Write one of ${values.map(String).join(", ")}`;

/**
 * The message for a value that fits no option of a union. If the value has the type of an option, returns the message
 * of this option; otherwise lists the types of all options.
 */
function unionMessage(options: readonly (readonly z.core.$ZodIssue[])[]): string {
  const firstIssues = options.flatMap(([first]) => first ?? []);
  const typeFits = firstIssues.find(({ code, path }) => code !== "invalid_type" || path.length > 0);
  if (typeFits) return typeFits.message;
  const expected = firstIssues.flatMap((issue) => (issue.code === "invalid_type" ? typeName(issue.expected) : []));
  return expected.length > 0 ? `Write ${[...new Set(expected)].join(" or ")}` : "This is not allowed here";
}

/**
 * An error map of zod, for every schema without a message of its own. If possible, the message tells people what to
 * write instead. The message is a sentence without its period. A schema with a pattern needs a message of its own,
 * because no general message can describe the pattern.
 */
export function inWords(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `Write ${typeName(issue.expected)}${actualTypeEnding(issue)}`;
    case "invalid_value":
      return listValues(issue.values);
    case "invalid_format":
      return `Write ${formats[issue.format] ?? "this in the documented form"}`;
    case "too_small":
      return boundMessage({ ...issue, limit: issue.minimum }, { inclusive: "at least", exclusive: "above" });
    case "too_big":
      return boundMessage({ ...issue, limit: issue.maximum }, { inclusive: "at most", exclusive: "below" });
    case "not_multiple_of":
      return `Write a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return `Not known here: ${issue.keys.slice(0, maxKeys).join(", ")}`;
    case "invalid_union":
      return unionMessage(issue.errors);
    case "invalid_key":
      return "This name is not allowed";
    default:
      return "This is not allowed here";
  }
}

/** The message for a text that is not the number of a schema: a whole number, with the range of the schema. */
function wholeNumberMessage({ schema }: Issue): string {
  const { minValue, maxValue } = schema instanceof z.ZodNumber ? schema : {};
  if (typeof minValue !== "number" || typeof maxValue !== "number") return "Write a whole number";
  return `Write a whole number from ${minValue.toLocaleString("en-US")} to ${maxValue.toLocaleString("en-US")}`;
}

/**
 * The error map for the path and the query of a URL. There every value is a text, and the value of a name that occurs
 * more than once is a list. So the messages do not name the type of the input.
 */
export function inWordsForUrl(issue: Issue): string {
  const isType = issue.code === "invalid_type";
  if (Array.isArray(issue.input) && (isType ? issue.expected !== "array" : issue.code === "invalid_value"))
    return "Give this parameter once";
  if (!isType || typeof issue.input !== "string") return inWords(issue);
  return issue.expected === "number" ? wholeNumberMessage(issue) : `Write ${typeName(issue.expected)}`;
}
