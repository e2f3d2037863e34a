import type { Check } from "./run.ts";
import { Skip, expect, errorOf } from "./scene.ts";

const totalText = ({ total }: { total: number }): string => `${total} in all`;

/** The checks of the answers without a token. */
const withoutToken: Check[] = [
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
      const pages = ["/checkout", "/docs", "/docs/overview", "/docs/errors", "/docs/playground"];
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
      const { data, response } = await api.me.get().withResponse();
      expect(response.headers.has("ratelimit"), "the answer has no RateLimit header");
      return data.is_super_admin ? `${data.id}, a super admin` : data.id;
    },
  },
  {
    name: "accounts.list",
    essential: true,
    run: async (scene) => {
      const data = await scene.api.accounts.list({ page_size: 1 });
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
      const data = await api.accounts.get(path);
      return `${data.name}, ${data.status}`;
    },
  },
  {
    name: "errors: 404 for an unknown account",
    run: async ({ api }) => {
      const path = { account_id: "00000000-0000-4000-8000-00000000dead" };
      const { status, code } = await errorOf(api.accounts.get(path));
      expect(status === 404 && code === "not_found", `the answer is ${status} ${code}`);
    },
  },
];

/** The checks of the families of functions. A check needs only the right to view the resources of its family. */
const families: Check[] = [
  { name: "workspaces.list", run: async ({ api, path }) => totalText(await api.workspaces.list(path)) },
  { name: "domains.list", run: async ({ api, path }) => totalText(await api.domains.list(path)) },
  {
    name: "dns_records.list",
    run: async ({ api, path }) => {
      const [domain] = (await api.domains.list({ ...path, page_size: 1 })).items;
      if (!domain) throw new Skip("the account has no domain yet");
      return totalText(await api.dns_records.list({ ...path, domain: domain.name }));
    },
  },
  { name: "mailboxes.list", run: async ({ api, path }) => totalText(await api.mailboxes.list(path)) },
  { name: "credentials.list", run: async ({ api, path }) => totalText(await api.credentials.list(path)) },
  { name: "forwarding.list", run: async ({ api, path }) => totalText(await api.forwarding.list(path)) },
  {
    name: "limits.get",
    run: async ({ api, path }) => `${(await api.limits.get(path)).limits.length} limits`,
  },
  {
    name: "notices.get",
    run: async ({ api, path }) => `${(await api.notices.get(path)).recipients.length} recipients`,
  },
  { name: "suppressions.list", run: async ({ api, path }) => totalText(await api.suppressions.list(path)) },
  {
    name: "statistics.get",
    run: async ({ api, path }) => {
      const [domain] = (await api.domains.list({ ...path, page_size: 1 })).items;
      if (!domain) throw new Skip("the account has no domain yet");
      const data = await api.statistics.get({ ...path, domain: domain.name });
      expect(data.days.length === 30, `the statistics have ${data.days.length} days, not 30`);
      return `${data.total.sent} mails sent`;
    },
  },
  { name: "dedicated_ips.list", run: async ({ api, path }) => totalText(await api.dedicated_ips.list(path)) },
  {
    name: "dedicated_ips.available_options",
    run: async ({ api, path }) => `${(await api.dedicated_ips.available_options(path)).length} options`,
  },
  {
    name: "billing.wallet_balance.get",
    run: async ({ api, path }) => {
      const data = await api.billing.wallet_balance.get(path);
      expect(/^-?\d+\.\d\d$/.test(data.balance), `the balance is ${data.balance}`);
    },
  },
  {
    name: "billing.current_plan.get",
    run: async ({ api, path }) => void (await api.billing.current_plan.get(path)),
  },
  {
    name: "billing.plans.list",
    run: async ({ api, path }) => `${(await api.billing.plans.list(path)).plans.length} plans`,
  },
  {
    name: "billing.usage.get",
    run: async ({ api, path }) => `${(await api.billing.usage.get(path)).total} until now`,
  },
  {
    name: "billing.transactions.list",
    run: async ({ api, path }) => totalText(await api.billing.transactions.list(path)),
  },
  {
    name: "billing.auto_recharge.get",
    run: async ({ api, path }) => {
      const data = await api.billing.auto_recharge.get(path);
      return `automatic recharges are ${data.state}`;
    },
  },
  { name: "billing.alerts.get", run: async ({ api, path }) => void (await api.billing.alerts.get(path)) },
  {
    name: "billing.payment_method.get",
    run: async ({ api, path }) => void (await api.billing.payment_method.get(path)),
  },
  { name: "billing.invoices.list", run: async ({ api, path }) => totalText(await api.billing.invoices.list(path)) },
  {
    name: "auth.authorizations.list",
    run: async ({ api, path }) => `${(await api.auth.authorizations.list(path)).length} grants`,
  },
  { name: "auth.groups.list", run: async ({ api, path }) => totalText(await api.auth.groups.list(path)) },
  { name: "auth.members.list", run: async ({ api, path }) => totalText(await api.auth.members.list(path)) },
  { name: "auth.invitations.list", run: async ({ api, path }) => totalText(await api.auth.invitations.list(path)) },
  {
    name: "me.permissions",
    run: async ({ api, path: { account_id } }) => {
      const data = await api.me.permissions({ account_id });
      return `${data.capability_keys.length} capabilities`;
    },
  },
  {
    name: "auth.role_assignments.list",
    run: async ({ api, path }) => `${(await api.auth.role_assignments.list(path)).length} assignments`,
  },
  { name: "auth.roles.list", run: async ({ api, path }) => totalText(await api.auth.roles.list(path)) },
  {
    name: "auth.service_accounts.list",
    run: async ({ api, path }) => `${(await api.auth.service_accounts.list(path)).length} service accounts`,
  },
  { name: "tags.list", run: async ({ api, path }) => totalText(await api.tags.list(path)) },
  { name: "audit.list", run: async ({ api, path }) => totalText(await api.audit.list(path)) },
  { name: "webhooks.list", run: async ({ api, path }) => totalText(await api.webhooks.list(path)) },
  {
    name: "functions.list",
    run: async ({ api }) => `${(await api.functions.list()).functions.length} functions`,
  },
];

/** The checks that create nothing. */
export const reads: readonly Check[] = [...withoutToken, ...self, ...families];
