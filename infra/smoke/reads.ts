import type { Check } from "./run.ts";
import { Skip, expect, errorOf } from "./scene.ts";

type Listed = { data: { total: number } };
const totalText = ({ data }: Listed): string => `${data.total} in all`;

/** The checks of everything that the product shows without a token. */
const open: Check[] = [
  {
    name: "openapi: the document",
    run: async (scene) => {
      const response = await scene.ask("/v1/public/openapi.json");
      expect(response.ok, `the answer is ${response.status}`);
      const { openapi, paths } = (await response.json()) as { openapi: string; paths: object };
      expect(openapi === "3.1.0", `the document's version is OpenAPI ${openapi}`);
      return `${Object.keys(paths).length} paths`;
    },
  },
  {
    name: "docs: reference and pages",
    run: async (scene) => {
      const pages = ["/docs", "/docs/overview", "/docs/errors", "/docs/playground"];
      for (const page of pages) {
        const { ok, status, headers } = await scene.ask(page);
        expect(ok, `${page} answers ${status}`);
        expect(headers.has("content-security-policy"), `${page} has no Content-Security-Policy`);
      }
      return pages.join(" ");
    },
  },
  {
    name: "a2a: the agent card",
    run: async (scene) => {
      const response = await scene.ask("/.well-known/agent-card.json");
      expect(response.ok, `the answer is ${response.status}`);
      const card = (await response.json()) as { skills: unknown[]; supportedInterfaces: { url: string }[] };
      const at = card.supportedInterfaces[0]?.url ?? "";
      expect(at.endsWith("/v1/public/a2a"), `the card gives ${at === "" ? "no address" : at} as the agent's address`);
      return `${card.skills.length} skills, at ${at}`;
    },
  },
  {
    name: "errors: 401 without a token",
    run: async (scene) => {
      const { status, headers } = await scene.ask("/v1/public/me");
      expect(status === 401, `the answer is ${status}`);
      expect(
        (headers.get("www-authenticate") ?? "").startsWith("Bearer"),
        "the answer has no WWW-Authenticate: Bearer",
      );
    },
  },
];

/** The checks of the token's own user, and of the account. */
const self: Check[] = [
  {
    name: "me.get",
    essential: true,
    run: async ({ api }) => {
      const { data, response } = await api.me.get();
      expect(response.headers.has("ratelimit"), "the answer has no RateLimit header");
      return data.is_super_admin ? `${data.id}, a super admin` : data.id;
    },
  },
  {
    name: "accounts.list",
    essential: true,
    run: async (scene) => {
      const { data } = await scene.api.accounts.list({ query: { page_size: 1 } });
      const [first] = data.items;
      if (scene.path.account_id === "" && first) scene.path = { account_id: first.id };
      expect(scene.path.account_id !== "", "the token has no account");
      return `${data.total} in all`;
    },
  },
  {
    name: "accounts.get",
    essential: true,
    run: async ({ api, path }) => {
      const { data } = await api.accounts.get({ path });
      return `${data.name}, ${data.status}`;
    },
  },
  {
    name: "errors: 404 for an unknown account",
    run: async ({ api }) => {
      const path = { account_id: "00000000-0000-4000-8000-00000000dead" };
      const { status, code } = await errorOf(api.accounts.get({ path }));
      expect(status === 404 && code === "not_found", `the answer is ${status} ${code}`);
    },
  },
];

/** The checks of every family of functions; each needs only the right to view it. */
const families: Check[] = [
  { name: "workspaces.list", run: async ({ api, path }) => totalText(await api.workspaces.list({ path })) },
  { name: "domains.list", run: async ({ api, path }) => totalText(await api.domains.list({ path })) },
  {
    name: "dns_records.list",
    run: async ({ api, path }) => {
      const [domain] = (await api.domains.list({ path, query: { page_size: 1 } })).data.items;
      if (!domain) throw new Skip("the account has no domain yet");
      return totalText(await api.dns_records.list({ path, query: { domain: domain.name } }));
    },
  },
  { name: "mailboxes.list", run: async ({ api, path }) => totalText(await api.mailboxes.list({ path })) },
  { name: "credentials.list", run: async ({ api, path }) => totalText(await api.credentials.list({ path })) },
  { name: "forwarding.list", run: async ({ api, path }) => totalText(await api.forwarding.list({ path })) },
  { name: "dedicated_ips.list", run: async ({ api, path }) => totalText(await api.dedicated_ips.list({ path })) },
  {
    name: "dedicated_ips.available_options",
    run: async ({ api, path }) => `${(await api.dedicated_ips.available_options({ path })).data.length} options`,
  },
  {
    name: "billing.wallet_balance.get",
    run: async ({ api, path }) => {
      const { data } = await api.billing.wallet_balance.get({ path });
      expect(/^-?\d+\.\d\d$/.test(data.balance), `the balance is ${data.balance}`);
    },
  },
  {
    name: "billing.current_plan.get",
    run: async ({ api, path }) => void (await api.billing.current_plan.get({ path })),
  },
  {
    name: "billing.transactions.list",
    run: async ({ api, path }) => totalText(await api.billing.transactions.list({ path })),
  },
  { name: "billing.invoices.list", run: async ({ api, path }) => totalText(await api.billing.invoices.list({ path })) },
  {
    name: "auth.authorizations.list",
    run: async ({ api, path }) => `${(await api.auth.authorizations.list({ path })).data.length} grants`,
  },
  { name: "auth.groups.list", run: async ({ api, path }) => totalText(await api.auth.groups.list({ path })) },
  {
    name: "auth.role_assignments.list",
    run: async ({ api, path }) => `${(await api.auth.role_assignments.list({ path })).data.length} assignments`,
  },
  {
    name: "auth.service_accounts.list",
    run: async ({ api, path }) => `${(await api.auth.service_accounts.list({ path })).data.length} service accounts`,
  },
  { name: "tags.list", run: async ({ api, path }) => totalText(await api.tags.list({ path })) },
  { name: "audit.list", run: async ({ api, path }) => totalText(await api.audit.list({ path })) },
  { name: "webhooks.list", run: async ({ api, path }) => totalText(await api.webhooks.list({ path })) },
  {
    name: "functions.list",
    run: async ({ api }) => `${(await api.functions.list()).data.functions.length} functions`,
  },
];

/** The checks that create nothing. */
export const reads: readonly Check[] = [...open, ...self, ...families];
