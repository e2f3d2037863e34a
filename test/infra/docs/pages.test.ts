import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

import { transformSync } from "esbuild";
import { Marked, type Token, type Tokens } from "marked";
import { describe, expect, test } from "vitest";

import { layOut } from "../../../infra/docs-pages/layout.ts";
import { withSiteLinks } from "../../../infra/docs-pages/markdown-links.ts";
import { docsPages, groups, operatorPages, unpublished } from "../../../infra/docs-pages/pages.ts";
import { operations } from "../../../infra/docs-pages/reference/operations.ts";
import { linkTarget, renderMarkdown, sectionsOf, slugOf } from "../../../infra/docs-pages/render.ts";
import { docsAssets } from "../../../infra/docs-pages/site.ts";

const root = resolve(import.meta.dirname, "../../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const documents = [...globSync("docs/*.md", { cwd: root }), "README.md", "CONTRIBUTING.md", "CHANGELOG.md"];
const assets = await docsAssets();
const contentOf = (to: string): string => {
  const asset = assets.find((one) => one.to === to);
  if (!asset) throw new Error(`there is no file ${to}`);
  return "content" in asset ? asset.content : readFileSync(asset.from, "utf8");
};
const htmlOf = (name: string): string => contentOf(`docs/${name}.html`);

/** Every page of the site by its path, those of the reference too. */
const sitePages = new Map(
  assets
    .filter(({ to }) => /^docs\/.*\.html$/.test(to) && !/(?:verify|invitation|checkout)\.html$/.test(to))
    .map(({ to }) => [to === "docs/index.html" ? "/docs" : `/${to.replace(/\.html$/, "")}`, contentOf(to)]),
);

const hasPython = ((): boolean => {
  try {
    execFileSync("python3", ["-c", ""], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

function tokensOf(markdown: string): Token[] {
  const marked = new Marked({ gfm: true });
  const found: Token[] = [];
  void marked.walkTokens(marked.lexer(markdown), (token) => void found.push(token));
  return found;
}

/** The anchors that GitHub gives the headings of a document. */
function anchorsOf(file: string): Set<string> {
  const taken = new Set<string>();
  for (const token of tokensOf(read(file))) {
    if (token.type === "heading") slugOf((token as Tokens.Heading).text.replaceAll("`", ""), taken);
  }
  return taken;
}

/** All paths below /docs, and the few other paths that pages link to. */
const served = new Set([
  "/docs",
  "/v1/public/openapi.json",
  ...assets.map(({ to }) => `/${to.replace(/\.html$/, "")}`),
]);

test("every document is a page, or is known to be for contributors", () => {
  const names = globSync("docs/*.md", { cwd: root }).map((file) => basename(file, ".md"));
  const pages = new Set(docsPages.map(({ name }) => name));
  expect(names.filter((name) => !pages.has(name) && !unpublished.has(name))).toEqual([]);
});

test("every link and every anchor inside the site leads somewhere", () => {
  const ids = new Map([...sitePages].map(([path, html]) => [path, new Set(html.match(/(?<= id=")[^"]+/g))]));
  const lost = [...sitePages].flatMap(([here, html]) => {
    const targets = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target = ""]) => target);
    expect(targets.length).toBeGreaterThan(10);
    return targets.flatMap((target) => {
      if (target.startsWith("https://")) return [];
      const [path = "", anchor] = target.split("#");
      const isThere = (path === "" || served.has(path)) && (anchor === undefined || ids.get(path || here)?.has(anchor));
      return isThere ? [] : [`${here} → ${target}`];
    });
  });
  expect(sitePages.size).toBeGreaterThan(docsPages.length + operations.size);
  expect(lost).toEqual([]);
});

test("every page follows the content security policy, has one main heading, and has each id once", () => {
  const wrong = [...sitePages].flatMap(([path, html]) => {
    const withoutScripts = html.replaceAll(/<script src="\/docs\/[a-z-]+\.js" type="module"><\/script>/g, "");
    const ids: string[] = html.match(/(?<= id=")[^"]+/g) ?? [];
    return [
      ...(/<script|<style|\sstyle=|\son\w+=|<img/.test(withoutScripts) ? [`${path} has something inline`] : []),
      ...(html.match(/<h1/g)?.length === 1 ? [] : [`${path} does not have exactly one main heading`]),
      ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `${path} has #${id} twice`),
    ];
  });
  expect(wrong).toEqual([]);
});

test("every page has a title of its own", () => {
  const titles = [...sitePages.values()].map((html) => /<title>(.*)<\/title>/.exec(html)?.[1]);
  expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
});

test("every page except the playground also exists as Markdown, and links to its Markdown", () => {
  const pages = [...sitePages].filter(([path]) => path !== "/docs/playground");
  const without = pages.filter(([path, html]) => {
    const markdown = path === "/docs" ? "/docs/index.md" : `${path}.md`;
    return !html.includes(`<link rel="alternate" type="text/markdown" href="${markdown}" />`) || !served.has(markdown);
  });
  expect(without.map(([path]) => path)).toEqual([]);
  expect(contentOf("docs/errors.md")).toContain("### not_found");
});

test("every relative link of every Markdown page leads to a published path", () => {
  const pages = assets.filter(({ to }) => /^docs\/.*\.md$/.test(to)).map(({ to }) => to);
  const targets = pages.flatMap((to) =>
    tokensOf(contentOf(to))
      .filter((token): token is Tokens.Link | Tokens.Image => token.type === "link" || token.type === "image")
      .filter(({ href }) => !/^(?:https?|mailto):/.test(href))
      .map(({ href }) => ({ to, href })),
  );
  const lost = targets.filter(({ to, href }) => {
    const { pathname } = new URL(href, `https://docs.example/${to}`);
    return !served.has(pathname);
  });
  expect(targets.length).toBeGreaterThan(500);
  expect(lost.map(({ to, href }) => `${to} → ${href}`)).toEqual([]);
  expect(contentOf("docs/changelog.md")).toContain("](/docs/billing.md");
});

test("llms.txt has a title, a summary, and a link to the Markdown of every page and operation", () => {
  const text = contentOf("llms.txt");
  expect(text).toMatch(/^# .+\n\n> .+\n/);
  const links = new Set([...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target));
  const wanted = [
    ...docsPages.map(({ name }) => `/docs/${name}.md`),
    ...[...operations.keys()].map((id) => `/docs/reference/${id}.md`),
  ];
  expect(wanted.filter((path) => !links.has(path))).toEqual([]);
  expect([...links].filter((path) => !served.has(path))).toEqual([]);
});

test("a page leads to the page before and the page after it", () => {
  const names = groups.flatMap(({ pages }) => pages.map(({ name }) => name));
  const turns = names.map((name) => [...htmlOf(name).matchAll(/<a rel="(\w+)" href="\/docs\/([^"]+)">/g)]);
  expect(turns.map((found) => found.map(([, rel, name]) => `${rel} ${name}`))).toEqual(
    names.map((_, index) => [
      ...(index === 0 ? [] : [`prev ${names[index - 1]}`]),
      ...(index === names.length - 1 ? [] : [`next ${names[index + 1]}`]),
    ]),
  );
});

test.each(["model", "domain-life", "request"])(
  "the picture %s has a text for people who cannot see it, and a dark form",
  (name) => {
    const svg = read(`docs/images/${name}.svg`);
    expect(svg).toMatch(/role="img"[^]*<title [^]*<desc [^]*prefers-color-scheme: dark/);
    expect([...sitePages.values()].filter((html) => html.includes(`id="${name}-title"`))).toHaveLength(1);
  },
);

const forOperators = new Set(operatorPages.map(({ name }) => name));
const forCustomers = docsPages.filter(({ name, file }) => file.startsWith("docs/") && !forOperators.has(name));

test.each(forCustomers)("$name has nothing that only operators need", ({ file }) => {
  expect(read(file)).not.toMatch(
    /(?:shared|infra|functions|test)\/|`workers\.|npm run |deploy\.md|\bSQS\b|dead-letter|CloudFormation/,
  );
});

test("a long page lists its sections, and a short one does not", () => {
  expect(htmlOf("dedicated-ips")).toMatch(/On this page[^]*href="#assign-domains"[^]*<h2 id="statuses"/);
  expect(htmlOf("overview")).toMatch(/On this page/);
  expect(contentOf("docs/reference/tags.html")).not.toContain("On this page");
});

test.each(documents)("links in %s lead to files and headings of the project", (file) => {
  const links = tokensOf(read(file)).filter((token): token is Tokens.Link => token.type === "link");
  const lost = links.filter(({ href }) => {
    if (/^(?:https?|mailto):/.test(href)) return false;
    const [path = "", anchor] = href.split("#");
    const target = path === "" ? file : relative(root, resolve(root, dirname(file), path));
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && !anchorsOf(target).has(anchor);
  });
  expect(lost.map(({ href }) => href)).toEqual([]);
});

/** For each language, a function that throws if a text is not valid code in the language. */
const parse: Record<string, (code: string) => unknown> = {
  json: (code) => JSON.parse(code),
  sh: (code) => execFileSync("bash", ["-n"], { input: code, stdio: ["pipe", "ignore", "pipe"] }),
  js: (code) => transformSync(code, { loader: "js" }),
  ts: (code) => transformSync(code, { loader: "ts" }),
  ...(hasPython
    ? {
        python: (code: string) =>
          execFileSync("python3", ["-c", "import ast,sys; ast.parse(sys.stdin.read())"], { input: code }),
      }
    : {}),
};

test.each(documents)("the code in %s parses in its language", (file) => {
  const blocks = tokensOf(read(file)).filter((token): token is Tokens.Code => token.type === "code");
  for (const { lang, text } of blocks) {
    const filledIn = text.replaceAll(/<[a-z][a-z -]*>/gi, "PLACEHOLDER");
    expect(() => parse[lang ?? ""]?.(filledIn), text).not.toThrow();
  }
});

describe("in the published Markdown of a document,", () => {
  const published = (markdown: string): string => withSiteLinks(markdown, "docs/here.md");

  test("links lead to the Markdown of pages", () => {
    expect(published("See [`docs/webhooks.md`](webhooks.md#retries), [here](#top).")).toBe(
      "See [`docs/webhooks.md`](/docs/webhooks.md#retries), [here](#top).",
    );
    expect(published("[a [b]](../CHANGELOG.md) [c](/docs/reference/tags) [d](/docs) [e](https://example.com)")).toBe(
      "[a [b]](/docs/changelog.md) [c](/docs/reference/tags.md) [d](/docs) [e](https://example.com)",
    );
  });

  test("a picture, and a link to a file that is no page, become their text", () => {
    expect(published("See [the `map`](architecture.md). ![A map.](images/map.svg)")).toBe("See the `map`. A map.");
  });

  test.each([
    "`[a](webhooks.md)`",
    "``[a](webhooks.md) ` ``",
    "```\n[a](webhooks.md) `\n```",
    "- x\n  ```\n  [a](b.md)\n  ```",
  ])("code stays as it is: %j", (code) => {
    expect(published(`${code}\n\n[b](webhooks.md)`)).toBe(`${code}\n\n[b](/docs/webhooks.md)`);
  });
});

describe("in the Markdown of a document,", () => {
  const rendered = (markdown: string): string => renderMarkdown(markdown, "docs/here.md").html;

  test("a cell of a table has the head of its column, which a phone shows before the cell", () => {
    const table = (head: string, row: string): string => rendered(`${head}\n|${"---|".repeat(3)}\n${row}`);
    expect(table("| Class | A `minute` | |", "| search | 120 | 1 |")).toContain(
      '<td>search</td><td data-head="A minute">120</td><td>1</td>',
    );
    expect(rendered("| A | B |\n|---|---|\n| a | b |")).toContain('<td>a</td><td data-head="B">b</td>');
  });

  test("HTML is shown as text", () => {
    expect(rendered('a <img src=x onerror="alert(1)"> b\n\n<script>alert(1)</script>')).not.toMatch(/<(?:img|script)/);
  });

  test.each(["javascript:alert(1)", "data:text/html,x", "vbscript:x"])("a link to %s is refused", (href) => {
    expect(() => rendered(`[here](${href})`)).toThrow("links to");
  });

  test("a link to a page, or the name of a page or an operation, becomes a link to its page", () => {
    expect(rendered("See [`docs/webhooks.md`](webhooks.md).")).toContain('<a href="/docs/webhooks">Webhooks</a>');
    expect(rendered("See [`docs/webhooks.md`](webhooks.md#retries).")).toContain(
      '<a href="/docs/webhooks#retries">Webhooks</a>',
    );
    expect(rendered("## [One](webhooks.md) of `tags.add`")).not.toContain("/docs/reference/tags.add");
    expect(rendered("See `docs/webhooks.md`.")).toContain('<a href="/docs/webhooks">Webhooks</a>');
    expect(rendered("See `/docs/errors`.")).toContain('<a href="/docs/errors">/docs/errors</a>');
    expect(rendered("Call `tags.add`.")).toContain('<a href="/docs/reference/tags.add"><code>tags.add</code></a>');
    expect(linkTarget("promises.md#a-repeat", "docs/here.md")?.address).toBe("/docs/promises#a-repeat");
    expect(linkTarget("../CHANGELOG.md", "docs/here.md")?.address).toBe("/docs/changelog");
  });

  test("a link to a file that is no page becomes plain text", () => {
    expect(rendered("See [the map](architecture.md).")).toBe("<p>See the map.</p>\n");
  });

  test.each(["constructor", "__proto__", "toString"])("the word `%s` becomes code, and no link", (word) => {
    expect(rendered(`\`${word}\``)).toContain(`<code>${word}</code>`);
  });

  test("headings have GitHub's anchors, also the second heading with the same name", () => {
    expect(rendered("## What `x` is, and isn't\n\n## Then\n\n## Then")).toMatch(
      /id="what-x-is-and-isnt"[^]*id="then"[^]*id="then-1"/,
    );
  });

  test("a heading has only its text as its accessible name, and its anchor is labelled with this text", () => {
    expect(rendered("## What `x` is")).toContain(
      '<h2 id="what-x-is">What <code>x</code> is</h2><a class="anchor" href="#what-x-is" aria-label="Link to: What x is">',
    );
  });

  test("a title is shown as text", () => {
    const page = layOut({ path: "/docs/x", title: "<b>", part: "docs", article: "" });
    expect(page).not.toContain("<b>");
  });

  test("code is highlighted by classes, and shown as text in an unknown language", () => {
    expect(rendered('```ts\nconst a = "<b>";\n```')).toMatch(
      /<span class="s-keyword">const<\/span>[^]*<span class="s-string">&quot;&lt;b&gt;&quot;<\/span>/,
    );
    expect(rendered("```cobol\nMOVE <A>\n```")).toContain("<code>MOVE &lt;A&gt;\n</code>");
  });

  test("blocks of code in several languages that follow one another become tabs", () => {
    const html = rendered("```sh\na\n```\n\n```ts\nb\n```\n\nText.\n\n```python\nc\n```");
    expect(html.match(/class="tabs"/g)).toHaveLength(1);
    expect(html.match(/data-tab="(?:curl|typescript)"/g)).toHaveLength(2);
    expect(html).toMatch(/<\/div>\n<p>Text[^]*data-language="python"/);
  });

  test("a picture from outside the project is refused", () => {
    expect(() => rendered("![x](https://example.com/x.svg)")).toThrow("shows");
  });

  test("sections begin at the headings", () => {
    expect(sectionsOf(rendered("# A\n\nOne.\n\n## `b` c\n\nTwo.\n\n### D\n\nThree."))).toEqual([
      { id: "", heading: "", text: "A One." },
      { id: "b-c", heading: "b c", text: "Two." },
      { id: "d", heading: "D", text: "Three." },
    ]);
  });

  test("a space separates the cells of a table, its head included, and the lines of a paragraph", () => {
    const texts = sectionsOf(rendered("|a|b|\n|-|-|\n|c|d|\n\ne  \nf")).map(({ text }) => text);
    expect(texts).toEqual(["a b c d e f"]);
  });
});
