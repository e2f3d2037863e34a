/** A page beside the reference: where its Markdown is, from the project's root, and what it is called there. */
export type DocsPage = { name: string; file: string; title: string };
type Group = { title: string; pages: readonly DocsPage[] };

const page = (name: string, title: string): DocsPage => ({ name, file: `docs/${name}.md`, title });

/** The pages in the order in which one may read them. Errors is made of the table of problems. */
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
      page("promises", "What every route promises"),
      page("authorization", "Who may do what"),
    ],
  },
  {
    title: "Mail",
    pages: [
      page("domains", "Domains and DNS"),
      page("mailboxes", "Mailboxes"),
      page("forwarding", "Forwarding"),
      page("dedicated-ips", "Dedicated IPs"),
      page("billing", "Billing"),
    ],
  },
  {
    title: "Programs",
    pages: [page("code-mode", "Code mode, MCP, A2A"), page("webhooks", "Webhooks"), page("events", "Events")],
  },
  { title: "News", pages: [{ name: "changelog", file: "CHANGELOG.md", title: "Changelog" }] },
];

export const docsPages: readonly DocsPage[] = groups.flatMap(({ pages }) => pages);

/** Documents of who runs the product; these are read where its source is. */
export const unpublished: ReadonlySet<string> = new Set([
  "architecture",
  "local",
  "deploy",
  "operations",
  "benchmarks",
]);

/** The pages that are programs, by their paths. */
const doors = new Map([
  ["/docs", "reference"],
  ["/docs/playground", "playground"],
]);

/** The path and title of what a file of the project, or a path of the product, is shown as; undefined when it is not. */
export function shownAs(target: string): { path: string; title: string } | undefined {
  const title = doors.get(target);
  if (title !== undefined) return { path: target, title };
  const found = docsPages.find(({ name, file }) => file === target || `/docs/${name}` === target);
  return found && { path: `/docs/${found.name}`, title: found.title };
}
