import { createHash } from "node:crypto";

import { escapeHtml } from "../../../shared/core/text.ts";
import type { Answer } from "../server/http-message.ts";

/** The colors of the local pages, light and dark. */
export const colors = `
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2430; --soft: #55606e; --line: #dfe4ea; --field: #f5f7f9; --accent: #0b5fff; --filled: #0b5fff; --edge: #8a94a0; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #12161c; --ink: #e6eaf0; --soft: #9aa7b6; --line: #333c48; --field: #1a2029; --accent: #7fb0ff; --filled: #1f5fd1; --edge: #66717f; }
}
`;

const style = `${colors}
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; padding: 0.75rem 1.25rem; border-bottom: 1px solid var(--line); }
nav strong { margin-right: auto; }
a { color: var(--accent); }
nav a { text-decoration: none; }
main { max-width: 44rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1.5rem; }
dt { color: var(--soft); }
dd { margin: 0; }
form { display: flex; flex-wrap: wrap; gap: 0.5rem; margin: 1rem 0; }
.fault { flex-basis: 100%; margin: 0; }
button { font: inherit; padding: 0.45rem 0.9rem; border: 1px solid var(--edge); border-radius: 0.25rem; background: var(--paper); color: inherit; cursor: pointer; }
label { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; }
input { font: inherit; padding: 0.4rem 0.5rem; border: 1px solid var(--edge); border-radius: 0.25rem; background: var(--paper); color: inherit; }
input[aria-invalid] { border-color: #c0392b; }
::placeholder { color: var(--soft); opacity: 1; }
button:first-child { background: var(--filled); border-color: var(--filled); color: #fff; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
pre { margin: 0.5rem 0; padding: 0.75rem; background: var(--field); white-space: pre-wrap; font-size: 0.85rem; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.45rem 0.75rem 0.45rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
iframe { color-scheme: light; background: #fff; box-sizing: border-box; width: 100%; height: 44rem; border: 1px solid var(--line); border-radius: 0.25rem; }
[role="status"], [role="alert"] { padding: 0.1rem 1rem; border: 1px solid var(--line); border-radius: 0.25rem; }
[role="alert"] { border-color: #c0392b; }
`;

/**
 * The content security policy of a local page. The policy allows only the style sheet `sheet`, no scripts, and forms
 * that are sent to this server. `more` adds directives.
 */
export function policyOf(sheet: string, ...more: string[]): string {
  const hash = createHash("sha256").update(sheet).digest("base64");
  const rest = ["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", ...more];
  return ["default-src 'none'", `style-src 'sha256-${hash}'`, ...rest].join("; ");
}

/**
 * A page of the local runtime, without scripts or external resources. `content` is HTML, and `title` is plain text.
 * `more` adds directives to the content security policy.
 */
export const htmlAnswer = (status: number, title: string, content: string, ...more: string[]): Answer => ({
  status,
  headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": policyOf(style, ...more) },
  body: Buffer.from(`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${escapeHtml(title)}</title>
    <style>${style}</style>
  </head>
  <body>
    <nav><strong>On this machine</strong><a href="/_local/registry">Registry</a><a href="/_local/outbox">Outbox</a><a href="/_local/events">Events</a><a href="/docs/overview">Docs</a><a href="/docs">Reference</a></nav>
    <main>
      <h1>${escapeHtml(title)}</h1>
      ${content}
    </main>
  </body>
</html>
`),
});
