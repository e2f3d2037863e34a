import { productName } from "../../shared/core/product.ts";
import { groups, operatorGroups } from "./pages.ts";
import { familiesWithOperations, type Family } from "./reference/operations.ts";

const familyLines = ({ title, description, name, operations }: Family): string[] => [
  `- [${title}](/docs/reference/${name}.md): ${description}`,
  ...operations.map(({ id, summary, method }) => `  - [${id}](/docs/reference/${id}.md): ${method}. ${summary}`),
];

const groupLines = (all: typeof groups): string[] =>
  all.flatMap(({ title, pages }) => pages.map((page) => `- [${page.title}](/docs/${page.name}.md): ${title}`));

/** The list of all pages as Markdown, in the form of llmstxt.org. */
export const llmsText = (): string =>
  [
    `# ${productName}`,
    "> An API to manage hosted mail: domains, DNS records, mailboxes, forwarding, dedicated IPs, billing and permissions. Every operation is a REST route, and a function of code mode under the same name.",
    "Send `Authorization: Bearer <token>`. The base path is `/v1/public`. The OpenAPI 3.1 document is at `/v1/public/openapi.json`. MCP clients connect to `/v1/public/mcp`, A2A clients to `/v1/public/a2a`.",
    "## Docs",
    groupLines(groups).join("\n"),
    "## Reference",
    familiesWithOperations.flatMap(familyLines).join("\n"),
    "## Optional",
    groupLines(operatorGroups).join("\n"),
  ].join("\n\n") + "\n";
