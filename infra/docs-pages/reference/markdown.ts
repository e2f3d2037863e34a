import { problemOf } from "../../../shared/core/errors.ts";
import { errorGuidance } from "../errors.ts";
import { type Field, fieldOf, type FieldMembers, membersOf } from "./fields.ts";
import type { Family, ReferenceOperation } from "./operations.ts";
import { guidesOf } from "./overview-pages.ts";
import { exampleFor } from "./samples.ts";

const factsOf = ({ type, required, limits, choices, default: preset }: Field): string =>
  [
    type,
    ...(required ? ["required"] : []),
    ...(preset === undefined ? [] : [`default ${preset}`]),
    ...limits,
    ...(choices.length === 0 ? [] : [`one of ${choices.join(", ")}`]),
  ].join("; ");

/** Writes members as a nested list. Writes the members of a named schema only once. */
function list(fields: readonly Field[], written: Set<string>, indent = ""): string[] {
  return fields.flatMap((field) => {
    const text = field.description.replaceAll(/\s*\n\s*/g, " ");
    return [
      `${indent}- \`${field.name}\` (${factsOf(field)})${text === "" ? "" : `: ${text}`}`,
      ...field.members.flatMap((group) => nested(group, written, `${indent}  `)),
    ];
  });
}

function nested({ name, fields }: FieldMembers, written: Set<string>, indent: string): string[] {
  if (name !== undefined && written.has(name)) return [`${indent}- the members of \`${name}\`, as above`];
  if (name !== undefined) written.add(name);
  return list(fields, written, indent);
}

const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

function argumentLines(operation: ReferenceOperation): string[] {
  const written = new Set<string>();
  const places = ["path", "query", "header"].flatMap((place) => {
    const found = operation.parameters.filter((parameter) => parameter.in === place);
    const fields = found.map(({ name, schema, required = false, description }) =>
      fieldOf(name, schema, required, description),
    );
    if (fields.length === 0) return [];
    const title = place === "header" ? "### In headers" : `### In the ${place}`;
    return [title, list(fields, written).join("\n")];
  });
  const body = operation.body
    ? [
        "### In the body",
        membersOf(operation.body.schema)
          .flatMap((group) => nested(group, written, ""))
          .join("\n"),
      ]
    : [];
  return [...places, ...body];
}

function answerLines({ answers }: ReferenceOperation): string[] {
  const written = new Set<string>();
  return answers.flatMap(({ status, description, content }) => [
    `### ${status}`,
    ...(description === "Done." ? [] : [description]),
    ...Object.values(content).flatMap(({ schema }) => {
      const lines = schema ? membersOf(schema).flatMap((group) => nested(group, written, "")) : [];
      return lines.length === 0 ? [] : [lines.join("\n")];
    }),
  ]);
}

function callersText({ route, isPublic }: ReferenceOperation): string {
  if (isPublic) return "Everybody, without a token.";
  if (route.capability === null) return `Every caller with a token. ${route.open ?? ""}`.trim();
  return `Callers with the capability \`${route.capability}\`.`;
}

/** An operation as Markdown, for agents. */
export function operationMarkdown(operation: ReferenceOperation): string {
  const { id, method, path, summary, description, route, problems } = operation;
  const { calls, answer } = exampleFor(operation);
  const samples = calls.flatMap(({ label, language, code }) => [`### ${label}`, fence(language, code)]);
  const parts = [
    `# ${summary}`,
    `\`${method} ${path}\``,
    `Operation \`${id}\`. ${callersText(operation)} Rate limit: class \`${route.limit}\`.${operation.isFunction ? ` Code mode: \`${id}\`.` : ""}`,
    ...(description === "" ? [] : [description]),
    "## Arguments",
    ...argumentLines(operation),
    "## Samples",
    ...samples,
    `### Answer: ${answer.status}`,
    fence("json", JSON.stringify(answer.body, null, 2)),
    "## Answer",
    ...answerLines(operation),
    "## Errors",
    problems
      .map(({ status, code }) => `- ${status} \`${code}\`: ${problemOf(code).title}. ${errorGuidance[code]}`)
      .join("\n"),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** A family as Markdown. Each operation links to its own Markdown page. */
export function familyMarkdown(family: Family): string {
  const operations = family.operations.map(
    ({ id, summary, method, path }) => `- [${summary}](/docs/reference/${id}.md): \`${method} ${path}\``,
  );
  const guides = guidesOf(family).map((file) => `\nRead about it: [${file}](/${file}).\n`);
  return `# ${family.title}\n\n${family.description}\n\n${operations.join("\n")}\n${guides.join("")}`;
}
