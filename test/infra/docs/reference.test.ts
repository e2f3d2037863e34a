import { expect, test } from "vitest";

import { fieldOf, membersOf } from "../../../infra/docs-pages/reference/fields.ts";
import { document, operations } from "../../../infra/docs-pages/reference/operations.ts";
import { docsAssets } from "../../../infra/docs-pages/site.ts";
import { escapeHtml } from "../../../shared/core/text.ts";

const assets = await docsAssets();
const contentOf = (to: string): string => {
  const asset = assets.find((one) => one.to === to);
  return asset && "content" in asset ? asset.content : "";
};

/** The names of the arguments of an operation, as the document has them. */
const argumentsOf = (id: string): string[] => {
  const operation = operations.get(id);
  const inBody = operation?.body ? membersOf(operation.body.schema).flatMap(({ fields }) => fields) : [];
  return [...(operation?.parameters ?? []), ...inBody].map(({ name }) => name);
};

test("the reference has every operation of the document once", () => {
  const ids = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect([...operations.keys()].toSorted()).toEqual(ids.toSorted());
});

test.each([...operations.values()])(
  "$id has a page with its title, method, path, caller, arguments and errors",
  (operation) => {
    const { id, summary, method, path, problems, route } = operation;
    const html = contentOf(`docs/reference/${id}.html`);
    const markdown = contentOf(`docs/reference/${id}.md`);
    expect(html).toContain(`<h1 id="top">${escapeHtml(summary)}</h1>`);
    expect(html.indexOf("<aside>"), "the samples are read after the text").toBeGreaterThan(html.indexOf("</article>"));
    expect(html.replaceAll("<wbr />", "")).toContain(`${method}</span> <code>${escapeHtml(path)}</code>`);
    expect(markdown).toContain(`# ${summary}\n\n\`${method} ${path}\``);
    for (const page of [html, markdown]) {
      if (route.capability !== null) expect(page).toContain(route.capability);
      for (const { code } of problems) expect(page).toContain(code);
    }
    const names = argumentsOf(id);
    expect(names.filter((name) => !html.includes(`<dt><code>${escapeHtml(name)}</code>`))).toEqual([]);
    expect(names.filter((name) => !markdown.includes(`- \`${name}\` (`))).toEqual([]);
  },
);

test("a member tells its type, limits, default, choices and examples", () => {
  const page = contentOf("docs/reference/mailboxes.list.html");
  expect(page).toMatch(
    /<code>page_size<\/code> <span class="type">integer<\/span>[^]*?Default: <code>25<\/code> · Limits: 1 to 100/,
  );
  const schema = { anyOf: [{ type: "string", enum: ["a", "b"], maxLength: 9 }, { type: "null" }], examples: ["a"] };
  expect(fieldOf("x", schema, true)).toMatchObject({
    type: "string or null",
    required: true,
    limits: ["at most 9 characters"],
    choices: ['"a"', '"b"'],
    examples: ['"a"'],
  });
});

test("a schema that an answer has twice is written once, and its second place links to it", () => {
  const page = contentOf("docs/reference/domains.renew.html");
  const written = page.match(/id="out-[A-Z]\w+"/g) ?? [];
  expect(new Set(written).size).toBe(written.length);
  expect(page).toMatch(/The members of <a href="#out-\w+">/);
});
