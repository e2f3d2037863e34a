import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { exampleOf, operationIds } from "../../../infra/openapi/examples.ts";
import { publishedDocument, schemaCheck, type JsonSchema } from "../../support/contract.ts";

type Media = { schema: JsonSchema; example?: unknown; examples?: Record<string, { $ref: string }> };
type Operation = {
  operationId: string;
  parameters?: { in: string; name: string; schema: JsonSchema; example?: unknown }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media> }>;
};
const { paths, components } = publishedDocument() as unknown as {
  paths: Record<string, Record<string, Operation>>;
  components: { examples: Record<string, { value: unknown }> };
};
const operations = new Map(
  Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => [operation.operationId, operation]),
);

/** The example of an answer in the document, if the document has the answer. */
function answered(name: string, status: number | string): { type: string; media: Media; value: unknown } | undefined {
  const entry = Object.entries(operations.get(name)?.responses[status]?.content ?? {}).find(
    ([, { example, examples }]) => example !== undefined || examples !== undefined,
  );
  if (!entry) return undefined;
  const [type, media] = entry;
  const [{ $ref } = { $ref: "" }] = Object.values(media.examples ?? {});
  return { type, media, value: media.example ?? components.examples[$ref.split("/").at(-1) ?? ""]?.value };
}

test("the document has the operations of the examples, and no others", () => {
  expect([...operations.keys()].toSorted()).toEqual(operationIds.toSorted());
  const recorded = JSON.parse(readFileSync(join(import.meta.dirname, "../../../infra/openapi/examples.json"), "utf8"));
  expect(Object.keys(recorded as object).toSorted()).toEqual(operationIds.toSorted());
});

describe.each(operationIds)("%s", (name) => {
  const example = exampleOf(name);
  const { route } = example;

  test("shows a request that its schemas accept", () => {
    expect(route.params.safeParse(example.path).error).toBeUndefined();
    expect(route.query.safeParse(example.query).error).toBeUndefined();
    expect(route.body.safeParse(example.body ?? {}).error).toBeUndefined();
    const { parameters = [], requestBody } = operations.get(name) ?? {};
    const shown = parameters.filter((parameter) => parameter.example !== undefined);
    const valueOf = (parameter: { name: string; example?: unknown }) => [parameter.name, parameter.example];
    expect(Object.fromEntries(shown.map(valueOf))).toEqual({ ...example.path, ...example.query });
    for (const { schema, example: value } of shown) expect(schemaCheck(schema)(value)).toBe(true);
    const media = requestBody?.content["application/json"];
    expect(media?.example).toEqual(example.body);
    if (media) expect(schemaCheck(media.schema)(media.example)).toBe(true);
  });

  test("shows its answer, and the answer matches its schema", () => {
    const { media, value } = answered(name, example.status) ?? {};
    if (example.file === undefined) expect(value).toEqual(example.answer);
    expect(route.output.safeParse(example.answer).success).toBe(true);
    const { schema } = operations.get(name)?.responses[example.status]?.content?.["application/json"] ?? {};
    expect(schemaCheck(schema ?? media?.schema ?? {})(example.answer)).toBe(true);
  });

  test("shows its 404 answer, and its 422 answer with the place of the wrong value", () => {
    const { responses } = operations.get(name) ?? { responses: {} };
    // The endpoint of MCP answers wrong values in JSON-RPC.
    const expected = ["404", "422"].filter((status) => status in responses && `${name} ${status}` !== "code.mcp 422");
    for (const status of expected) {
      const { media, value } = answered(name, status) ?? {};
      expect(media, `${name} ${status}`).toBeDefined();
      expect(schemaCheck(media?.schema ?? {})(value)).toBe(true);
    }
    if (example.invalid === undefined) return;
    const { detail } = example.invalid as { detail: { loc: string[] }[] };
    const parts = { path: route.params.shape, query: route.query.shape, body: route.body.shape };
    const [part = "", member = ""] = detail[0]?.loc ?? [];
    const isKnown = member in (parts[part as keyof typeof parts] ?? {});
    // The example of an operation without parameters shows an unknown member.
    expect(isKnown || Object.values(parts).every((shape) => Object.keys(shape).length === 0)).toBe(true);
  });
});

test("no example has an address of a machine, a random name, or a secret that looks real", () => {
  const text = JSON.stringify(operationIds.map((name) => ({ ...exampleOf(name), route: undefined })));
  for (const pattern of [/127\.0\.0\.1/, /localhost/, /[0-9a-f]{12}\.com/, /\bsat_(?!Example|Exam")/, /BEGIN/]) {
    expect(text).not.toMatch(pattern);
  }
  const secrets = text.match(/"(?:\w*(?:secret|password|token|auth_code|setup_key))":"[^"]+"/g) ?? [];
  expect(secrets.length).toBeGreaterThan(5);
  // The second word is "This is an example" in base64.
  for (const secret of secrets) expect(secret).toMatch(/example|VGhpcyBpcyBhbiBleGFtcGxl/i);
});

test("lists have items, so that a reader sees the form of an item", () => {
  const empty = operationIds.filter((name) => {
    const { answer } = exampleOf(name);
    const items = Array.isArray(answer) ? answer : (answer as { items?: unknown[] }).items;
    return items?.length === 0;
  });
  expect(empty).toEqual([]);
});
