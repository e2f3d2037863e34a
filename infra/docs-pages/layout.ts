import { productName } from "../../shared/core/product.ts";
import { escaped } from "../../shared/core/text.ts";
import { type DocsPage, groups } from "./pages.ts";

const current = (isHere: boolean): string => (isHere ? ' aria-current="page"' : "");

const linkTo = ({ name, title }: DocsPage, here: string): string =>
  `<li><a href="/docs/${name}"${current(name === here)}>${escaped(title)}</a></li>`;

const groupOf = ({ title, pages }: (typeof groups)[number], here: string): string =>
  `<h2>${escaped(title)}</h2>\n<ul>\n${pages.map((page) => linkTo(page, here)).join("\n")}\n</ul>`;

/** A page of the site around its article: whole without its script, and with nothing from elsewhere. */
export const layOut = ({ name, title }: Pick<DocsPage, "name" | "title">, article: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${productName} · ${escaped(title)}</title>
    <link rel="icon" href="/docs/favicon-32x32.png" />
    <link rel="stylesheet" href="/docs/base.css" />
    <link rel="stylesheet" href="/docs/pages.css" />
    <script src="/docs/pages.js" type="module"></script>
  </head>
  <body>
    <a class="skip" href="#content">Skip to the text</a>
    <nav class="site" aria-label="Site">
      <strong>${productName}</strong>
      <a href="/docs/overview"${current(name === "overview")}>Docs</a>
      <a href="/docs">Reference</a>
      <a href="/docs/playground">Playground</a>
      <a href="/docs/errors"${current(name === "errors")}>Errors</a>
      <a href="/v1/public/openapi.json">OpenAPI document</a>
    </nav>
    <div class="columns">
      <details class="pages">
        <summary>All pages</summary>
        <nav aria-label="Pages">
${groups.map((group) => groupOf(group, name)).join("\n")}
        </nav>
      </details>
      <main id="content" tabindex="-1">
        <article>
${article}
        </article>
      </main>
    </div>
  </body>
</html>
`;
