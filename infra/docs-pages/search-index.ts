import MiniSearch from "minisearch";

import { indexOptions } from "../docs/site/terms.ts";
import { operatorPages } from "./pages.ts";
import { membersOf } from "./reference/fields.ts";
import { familiesWithOperations, type ReferenceOperation } from "./reference/operations.ts";
import { renderText, sectionsOf, textOf } from "./render.ts";

/** A page of text: its name, title, and HTML. */
export type TextPage = { name: string; title: string; html: string };

type IndexEntry = { title: string; section: string; path: string; kind: string; names: string; text: string };

function sectionsIn({ name, title, html }: TextPage): IndexEntry[] {
  const kind = operatorPages.some((page) => page.name === name) ? "Operators" : "Docs";
  return sectionsOf(html).map(({ id, heading, text }) => ({
    title,
    section: heading,
    path: `/docs/${name}${id === "" ? "" : `#${id}`}`,
    kind,
    names: name,
    text: text.slice(0, 1_500),
  }));
}

const indexEntryOf = (operation: ReferenceOperation): IndexEntry => ({
  title: operation.summary,
  section: "",
  path: `/docs/reference/${operation.id}`,
  kind: operation.id,
  names: [operation.id, ...(operation.route.synonyms ?? [])].join(" "),
  text: [
    operation.method,
    operation.path,
    textOf(renderText(operation.description)),
    ...operation.parameters.filter((parameter) => parameter.in !== "header").map(({ name }) => name),
    ...(operation.body ? membersOf(operation.body.schema).flatMap(({ fields }) => fields.map(({ name }) => name)) : []),
  ].join(" "),
});

/** The search index of all pages and operations, as JSON. */
export function searchIndex(pages: readonly TextPage[]): string {
  const index = new MiniSearch<IndexEntry & { id: number }>(indexOptions);
  const families = familiesWithOperations.map(({ name, title, description }) => ({
    title,
    section: "",
    path: `/docs/reference/${name}`,
    kind: "Reference",
    names: name,
    text: description,
  }));
  const operations = familiesWithOperations.flatMap((family) => family.operations.map(indexEntryOf));
  const entries = [...operations, ...families, ...pages.flatMap(sectionsIn)];
  index.addAll(entries.map((entry, id) => ({ id, ...entry })));
  return JSON.stringify(index);
}
