import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

import { transformSync } from "esbuild";
import { Marked, type Token, type Tokens } from "marked";
import { describe, expect, test } from "vitest";

import { docsPages, unpublished } from "../../../infra/docs-pages/pages.ts";
import { linkTarget, layOut, operatorsHeading, renderMarkdown, slugOf } from "../../../infra/docs-pages/render.ts";
import { docsAssets } from "../../../infra/docs-pages/site.ts";

const root = resolve(import.meta.dirname, "../../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const documents = [...globSync("docs/*.md", { cwd: root }), "README.md", "CONTRIBUTING.md", "CHANGELOG.md"];
const assets = await docsAssets();
const htmlOf = (name: string): string => {
  const asset = assets.find(({ to }) => to === `docs/${name}.html`);
  if (!asset) throw new Error(`there is no page ${name}`);
  return "content" in asset ? asset.content : readFileSync(asset.from, "utf8");
};

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

/** Everything that can be asked for at /docs, and the few paths beside it. */
const served = new Set([
  "/docs",
  "/v1/public/openapi.json",
  ...assets.map(({ to }) => `/${to.replace(/\.html$/, "")}`),
]);

test("every document is a page, or is known to be for who runs the product", () => {
  const names = globSync("docs/*.md", { cwd: root }).map((file) => basename(file, ".md"));
  const pages = new Set(docsPages.map(({ name }) => name));
  expect(names.filter((name) => !pages.has(name) && !unpublished.has(name))).toEqual([]);
});

test.each(docsPages)("$name leads nowhere that is not there", ({ name }) => {
  const html = htmlOf(name);
  const targets = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target = ""]) => target);
  const lost = targets.filter((target) => {
    if (target.startsWith("https://")) return false;
    const [path = "", anchor] = target.split("#");
    if (path !== "" && !served.has(path)) return true;
    if (anchor === undefined) return false;
    const page = path === "" ? html : htmlOf(path.replace("/docs/", ""));
    return !page.includes(`id="${anchor}"`);
  });
  expect(targets.length).toBeGreaterThan(docsPages.length);
  expect(lost).toEqual([]);
});

test.each(docsPages)("$name has what the content security policy lets through, and one main heading", ({ name }) => {
  const html = htmlOf(name).replace('<script src="/docs/pages.js" type="module"></script>', "");
  expect(html).not.toMatch(/<script|<style|\sstyle=|\son\w+=|<img/);
  expect(html.match(/<h1/g)).toHaveLength(1);
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

/** Pages for customers; the one on authorization is written for both, and the changelog for everybody. */
const forCustomers = docsPages.filter(({ name, file }) => file.startsWith("docs/") && name !== "authorization");

test.each(forCustomers)("$name tells what only operators need in its last section, set apart", ({ name, file }) => {
  const markdown = read(file);
  const [before = "", after, ...more] = markdown.split(`## ${operatorsHeading}\n`);
  expect(before).not.toMatch(
    /(?:shared|infra|functions|test)\/|`workers\.|npm run (?!client)|\bSQS\b|dead-letter|CloudFormation/,
  );
  expect(more).toEqual([]);
  expect(after ?? "").not.toMatch(/^## /m);
  expect(htmlOf(name).includes('<section class="operators"')).toBe(after !== undefined);
});

test("a long page lists its sections before the first, and a short one does not", () => {
  expect(htmlOf("dedicated-ips")).toMatch(/On this page[^]*href="#assign-domains"[^]*<h2 id="statuses"/);
  expect(htmlOf("idempotency")).not.toContain("On this page");
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

const check: Record<string, (code: string) => unknown> = {
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

test.each(documents)("the code in %s can be read by what it is for", (file) => {
  const blocks = tokensOf(read(file)).filter((token): token is Tokens.Code => token.type === "code");
  for (const { lang, text } of blocks) {
    const filledIn = text.replaceAll(/<[a-z][a-z -]*>/gi, "PLACEHOLDER");
    expect(() => check[lang ?? ""]?.(filledIn), text).not.toThrow();
  }
});

describe("of what a document holds", () => {
  const rendered = (markdown: string): string => renderMarkdown(markdown, "docs/here.md");

  test("HTML is shown as text", () => {
    expect(rendered('a <img src=x onerror="alert(1)"> b\n\n<script>alert(1)</script>')).not.toMatch(/<(?:img|script)/);
  });

  test.each(["javascript:alert(1)", "data:text/html,x", "vbscript:x"])("a link to %s is refused", (href) => {
    expect(() => rendered(`[here](${href})`)).toThrow("links to");
  });

  test("a link or a name of a page leads to the page, by its title", () => {
    expect(rendered("See [`docs/webhooks.md`](webhooks.md).")).toContain('<a href="/docs/webhooks">Webhooks</a>');
    expect(rendered("See `docs/webhooks.md`.")).toContain('<a href="/docs/webhooks">Webhooks</a>');
    expect(rendered("See `/docs/errors`.")).toContain('<a href="/docs/errors">/docs/errors</a>');
    expect(linkTarget("promises.md#a-repeat", "docs/here.md")).toBe("/docs/promises#a-repeat");
    expect(linkTarget("../CHANGELOG.md", "docs/here.md")).toBe("/docs/changelog");
  });

  test("a link to what is no page is its text alone", () => {
    expect(rendered("See [the deployment](deploy.md).")).toBe("<p>See the deployment.</p>\n");
  });

  test.each(["constructor", "__proto__", "toString"])("the word `%s` is a word", (word) => {
    expect(rendered(`\`${word}\``)).toContain(`<code>${word}</code>`);
  });

  test("headings have GitHub's anchors, the second of a name too", () => {
    expect(rendered("## What `x` is, and isn't\n\n## Then\n\n## Then")).toMatch(
      /id="what-x-is-and-isnt"[^]*id="then"[^]*id="then-1"/,
    );
  });

  test("a title is shown as text", () => {
    expect(layOut({ name: "x", title: "<b>" }, "")).not.toContain("<b>");
  });
});
