import { families } from "../openapi/routes.ts";
import { operations } from "./reference/operations.ts";

/** A page of text: its name on the site, its source relative to the project's root, and its title. */
export type DocsPage = { name: string; file: string; title: string };
export type Group = { title: string; pages: readonly DocsPage[] };

const page = (name: string, title: string): DocsPage => ({ name, file: `docs/${name}.md`, title });

/** The pages for customers, in reading order. The build adds a section about each problem to the page of errors. */
export const groups: readonly Group[] = [
  {
    title: "Begin",
    pages: [
      page("overview", "Overview"),
      page("quickstart", "Quickstart"),
      page("authentication", "Authentication"),
      page("client", "TypeScript client"),
      page("cli", "Command line"),
    ],
  },
  {
    title: "Guides",
    pages: [
      page("guide-move-domains", "Move 40 domains"),
      page("guide-agents", "Connect an agent"),
      page("guide-webhooks", "Webhooks in 10 minutes"),
      page("guide-resellers", "Sell mailboxes"),
    ],
  },
  {
    title: "Every request",
    pages: [
      { name: "errors", file: "infra/docs/errors.md", title: "Errors" },
      page("pagination", "Pagination"),
      page("idempotency", "Idempotency"),
      page("promises", "API guarantees"),
      page("compatibility", "Compatibility"),
      page("limits", "Limits"),
      page("authorization", "Authorization"),
    ],
  },
  {
    title: "Mail",
    pages: [
      page("domains", "Domains"),
      page("registration", "Registration"),
      page("dns", "DNS and mail settings"),
      page("mailboxes", "Mailboxes"),
      page("forwarding", "Forwarding"),
      page("dedicated-ips", "Dedicated IPs"),
      page("deliverability", "Deliverability"),
      page("billing", "Billing"),
      page("notices", "Notices"),
    ],
  },
  {
    title: "Programs",
    pages: [
      page("code-mode", "Code mode"),
      page("agents", "MCP and A2A"),
      page("webhooks", "Webhooks"),
      page("events", "Events"),
    ],
  },
  { title: "News", pages: [{ name: "changelog", file: "CHANGELOG.md", title: "Changelog" }] },
];

/** The pages for operators, who run the product for their customers. */
export const operatorGroups: readonly Group[] = [
  {
    title: "Operate",
    pages: [
      page("local", "On one machine"),
      page("deploy", "Deploy"),
      page("operations", "Operations"),
      page("mail-servers", "Mail servers"),
      page("scale", "Scale"),
      page("multi-region", "A second region"),
    ],
  },
  {
    title: "How parts run",
    pages: [
      page("operators-requests", "Requests"),
      page("operators-events", "Events and workers"),
      page("operators-mail", "Mail"),
      page("operators-billing", "Billing for operators"),
    ],
  },
];

const pagesOf = (all: readonly Group[]): readonly DocsPage[] => all.flatMap(({ pages }) => pages);

export const operatorPages = pagesOf(operatorGroups);

/** All pages of text. The pages for operators are last. */
export const docsPages: readonly DocsPage[] = [...pagesOf(groups), ...operatorPages];

/** Documents for contributors. The site does not show them: contributors read them in the repository. */
export const unpublished: ReadonlySet<string> = new Set(["architecture", "benchmarks", "benchmarks-tables"]);

/** The titles of the other pages to which texts can link, by path. */
const otherPages = new Map([
  ["/docs", "reference"],
  ["/docs/playground", "playground"],
  ["/v1/public/openapi.json", "OpenAPI document"],
  ["/llms.txt", "llms.txt"],
  ...families.map(({ name, title }) => [`/docs/reference/${name}`, title] as const),
]);

/**
 * The path and title of the page that shows `target`. `target` is a file of the project, a path of the site, or the
 * name of an operation. Undefined if no page shows `target`.
 */
export function pageShowing(target: string): { path: string; title: string } | undefined {
  const title = otherPages.get(target);
  if (title !== undefined) return { path: target, title };
  if (operations.has(target)) return { path: `/docs/reference/${target}`, title: target };
  const found = docsPages.find(({ name, file }) => file === target || `/docs/${name}` === target);
  return found && { path: `/docs/${found.name}`, title: found.title };
}
