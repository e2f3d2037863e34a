import { productName } from "../../../shared/core/product.ts";
import { escapeHtml } from "../../../shared/core/text.ts";
import { layOut } from "../layout.ts";
import { codeBlock, renderLine, renderText } from "../render.ts";
import { familiesWithOperations, type Family, type ReferenceOperation } from "./operations.ts";
import { endpoint } from "./page.ts";

/** The source files of the pages about a family, by the family's name. */
const guides: Readonly<Record<string, readonly string[]>> = {
  accounts: ["docs/overview.md"],
  me: ["docs/authentication.md"],
  domains: ["docs/domains.md", "docs/registration.md"],
  dns_records: ["docs/dns.md"],
  mailboxes: ["docs/mailboxes.md"],
  credentials: ["docs/mailboxes.md"],
  forwarding: ["docs/forwarding.md"],
  suppressions: ["docs/deliverability.md"],
  statistics: ["docs/deliverability.md"],
  dedicated_ips: ["docs/dedicated-ips.md"],
  auth: ["docs/authorization.md"],
  webhooks: ["docs/guide-webhooks.md", "docs/webhooks.md", "docs/events.md"],
  billing: ["docs/billing.md"],
  notices: ["docs/notices.md"],
  limits: ["docs/limits.md"],
  audit: ["docs/events.md"],
  functions: ["docs/code-mode.md"],
  code: ["docs/code-mode.md", "docs/guide-agents.md", "docs/agents.md"],
};

const row = (operation: ReferenceOperation): string =>
  `<li><a href="/docs/reference/${operation.id}"><strong>${escapeHtml(operation.summary)}</strong></a><br /><span class="endpoint">${endpoint(operation)}</span></li>`;

/** The source files of the pages about a family. */
export const guidesOf = ({ name }: Family): readonly string[] => guides[name] ?? [];

/** The page of a family: its operations, each with its method and path. */
export function familyPage(family: Family): string {
  const { name, title, description, operations } = family;
  const read = guidesOf(family).map((file) => renderLine(`\`${file}\``));
  const more = read.length === 0 ? "" : `\n<p>Read about it: ${read.join(", ")}.</p>`;
  return layOut({
    path: `/docs/reference/${name}`,
    title: `${title} reference`,
    part: "reference",
    summary: description,
    hasMarkdown: true,
    article: `<p class="crumbs"><a href="/docs">Reference</a></p>
<h1 id="top">${escapeHtml(title)}</h1>
<div class="lead">${renderText(description)}</div>${more}
<ul class="operations">\n${operations.map(row).join("\n")}\n</ul>`,
  });
}

const firstCall = `curl "$BASE_URL/v1/public/me" -H "authorization: Bearer $TOKEN"`;

const cards = [
  ["/docs/quickstart", "Quickstart", "From a token to a mailbox that receives mail."],
  ["/docs/authentication", "Authentication", "Access tokens, and tokens of service accounts."],
  ["/docs/errors", "Errors", "Every code, with its cause and what to do."],
  ["/docs/guide-move-domains", "Move domains", "40 domains with mail and DNS from another host."],
  ["/docs/guide-agents", "Connect an agent", "Claude, ChatGPT, Cursor and VS Code, by MCP."],
  ["/docs/guide-webhooks", "Webhooks", "Events of an account, posted to your servers."],
  ["/docs/guide-resellers", "Sell mailboxes", "Customers of your own in one account."],
  ["/docs/playground", "Playground", "Write programs of calls, and run them dry."],
] as const;

const card = ([path, title, text]: readonly [string, string, string]): string =>
  `<li><a href="${path}"><strong>${title}</strong><span>${text}</span></a></li>`;

const familyCard = ({ name, title, description, operations }: Family): string =>
  `<li><a href="/docs/reference/${name}"><strong>${escapeHtml(title)}</strong> <small>${operations.length}</small><span>${escapeHtml(description)}</span></a></li>`;

/** The first page of the reference: how to call the API, and the families. */
export const startPage = (): string =>
  layOut({
    path: "/docs",
    title: "Reference",
    part: "reference",
    summary: `Every operation of the ${productName}, with arguments, answers, errors and samples.`,
    hasMarkdown: true,
    scripts: ["old-links"],
    article: `<h1 id="top">${productName}</h1>
<p class="lead">Manage domains, mailboxes, forwarding, dedicated IPs and billing of a hosted-mail account. Every operation is a REST route. Nearly all are also functions of <a href="/docs/code-mode">code mode</a>, under the same names.</p>
<h2 id="first-call">First call</h2>
<p>Send your <a href="/docs/authentication">token</a> in the header <code>Authorization</code>. This call tells who you are:</p>
${codeBlock(firstCall, "sh")}
<ul class="cards">\n${cards.map(card).join("\n")}\n</ul>
<h2 id="families">All operations</h2>
<ul class="cards">\n${familiesWithOperations.map(familyCard).join("\n")}\n</ul>`,
  });
