import { escapeHtml } from "../../../shared/core/text.ts";
import type { Answer } from "../server/http-message.ts";
import { colors, policyOf } from "./html.ts";

const style = `${colors}
:root { --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8f85; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--field); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
a { color: var(--accent); }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1rem; padding: 0.75rem 1.25rem; border-bottom: 1px solid var(--line); background: var(--paper); font-weight: 600; }
header span { padding: 0.1rem 0.6rem; border: 1px solid var(--edge); border-radius: 1rem; color: var(--soft); font-size: 0.85rem; font-weight: 400; }
main { display: grid; gap: 1.5rem; max-width: 60rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; overflow-wrap: anywhere; }
@media (min-width: 48rem) { main { grid-template-columns: 1fr 1.15fr; column-gap: 3rem; padding-top: 3rem; } main > .wide { grid-column: 1 / -1; } }
h1 { margin: 1rem 0 0; font-size: 1rem; font-weight: 400; color: var(--soft); }
h1 strong { display: block; color: var(--ink); font-size: 2.4rem; line-height: 1.2; }
h2 { margin: 0 0 1rem; font-size: 1.15rem; }
.card { align-self: start; padding: 1.25rem; border: 1px solid var(--line); border-radius: 0.6rem; background: var(--paper); }
.fields { display: grid; grid-template-columns: 1fr 1fr; gap: 0.9rem; }
.fields > .row { grid-column: 1 / -1; }
label { display: block; margin-bottom: 0.25rem; font-size: 0.9rem; font-weight: 600; }
input { width: 100%; font: inherit; padding: 0.6rem 0.7rem; border: 1px solid var(--edge); border-radius: 0.35rem; background: var(--paper); color: inherit; }
::placeholder { color: var(--soft); opacity: 1; }
input[aria-invalid] { border-color: var(--bad); }
.fault { margin: 0.3rem 0 0; color: var(--bad); font-size: 0.9rem; }
button { font: inherit; padding: 0.45rem 0.9rem; border: 1px solid var(--edge); border-radius: 0.35rem; background: var(--paper); color: inherit; cursor: pointer; }
button.pay { width: 100%; margin-top: 1.1rem; padding: 0.75rem; border-color: var(--filled); background: var(--filled); color: #fff; font-weight: 600; }
.buttons { display: flex; flex-wrap: wrap; gap: 0.5rem; margin: 1rem 0; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
[role="status"], [role="alert"] { margin-bottom: 1rem; padding: 0.6rem 0.9rem; border: 1px solid var(--line); border-radius: 0.35rem; }
[role="alert"] { border-color: var(--bad); }
[role="status"] p, [role="alert"] p { margin: 0; }
table { width: 100%; border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.35rem 0.75rem 0.35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td:first-child { white-space: nowrap; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1.5rem; font-size: 0.9rem; }
dt { color: var(--soft); }
dd { margin: 0; }
pre { margin: 0.5rem 0; padding: 0.75rem; background: var(--field); white-space: pre-wrap; font-size: 0.85rem; }
summary { cursor: pointer; color: var(--soft); }
`;

/** Returns an http or https URL unchanged. Returns undefined for any other text, such as a `javascript:` URL. */
export const webAddress = (url = ""): string | undefined => (/^https?:\/\//i.test(url) ? url : undefined);

/** A paragraph with a link. Empty without a URL. */
export const link = (text: string, url: string | undefined): string =>
  url === undefined ? "" : `<p><a href="${escapeHtml(url)}">${escapeHtml(text)}</a></p>`;

type PayerPage = {
  status?: number;
  /** Plain text. */
  title: string;
  /** HTML. */
  content: string;
  /** The web address to which the page leads the payer at once. */
  leadTo?: string | undefined;
};

/**
 * A page for payers that looks like a payment provider's page. The page has no scripts, no external resources, and no
 * links to other local pages.
 */
export const payerPage = ({ status = 200, title, content, leadTo }: PayerPage): Answer => ({
  status,
  headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": policyOf(style) },
  body: Buffer.from(`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="referrer" content="no-referrer" />${
      leadTo === undefined ? "" : `\n    <meta http-equiv="refresh" content="0;url=${escapeHtml(leadTo)}" />`
    }
    <title>${escapeHtml(title)}</title>
    <style>${style}</style>
  </head>
  <body>
    <header>Example Payments <span>Test mode: no money moves</span></header>
    <main>
      ${content}
    </main>
  </body>
</html>
`),
});
