/** A page besides the reference: its name on the site, its source relative to the project's root, and its title. */
export type DocsPage = { name: string; file: string; title: string };
type Group = { title: string; pages: readonly DocsPage[] };

const page = (name: string, title: string): DocsPage => ({ name, file: `docs/${name}.md`, title });

/** The pages in reading order. The page of errors is built from the table of problems. */
export const groups: readonly Group[] = [
  {
    title: "Begin",
    pages: [
      page("overview", "Overview"),
      page("quickstart", "Quickstart"),
      page("authentication", "Authentication"),
      page("client", "TypeScript client"),
    ],
  },
  {
    title: "Every request",
    pages: [
      { name: "errors", file: "infra/docs/errors.html", title: "Errors" },
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

export const docsPages: readonly DocsPage[] = groups.flatMap(({ pages }) => pages);

/** Documents for contributors and operators, who read them in the source. */
export const unpublished: ReadonlySet<string> = new Set([
  "architecture",
  "local",
  "mail-servers",
  "deploy",
  "operations",
  "multi-region",
  "scale",
  "benchmarks",
  "benchmarks-tables",
]);

/** The pages that are applications, by path. */
const appPages = new Map([
  ["/docs", "reference"],
  ["/docs/playground", "playground"],
]);

/**
 * The path and title of the page that shows `target`: a file of the project, or a path. Undefined if no page shows it.
 */
export function shownAs(target: string): { path: string; title: string } | undefined {
  const title = appPages.get(target);
  if (title !== undefined) return { path: target, title };
  const found = docsPages.find(({ name, file }) => file === target || `/docs/${name}` === target);
  return found && { path: `/docs/${found.name}`, title: found.title };
}
