import { expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { domainsRequest } from "../../support/domains.ts";
import { home, send } from "../../support/mailboxes.ts";
import { newAccount, newMember, type Account, type User } from "../../support/world.ts";

const list = async (account: Account, query = "", as?: User) => {
  const { body } = await send(account, "GET", `credentials?${query}`, undefined, as ? { as } : {});
  return { names: body.items.map(({ name }: { name: string }) => name), total: body.total };
};

const add = async (account: Account, name: string, scope: object = {}): Promise<string> =>
  (await send(account, "POST", "credentials", { name, generate: true, ...scope })).body.id;

/** One master password of each kind of scope, and one of another domain in another workspace. */
async function scene() {
  const account = await newAccount();
  const domain = await home(account);
  const other = await home(account);
  await add(account, "account");
  await add(account, "workspace", { workspace_id: domain.workspace_id });
  await add(account, "domain", { domain: domain.name });
  await add(account, "other", { domain: other.name });
  return { account, domain, other };
}

test("lists oldest first with an exact total, without the passwords", async () => {
  const { account } = await scene();
  expect(await list(account)).toEqual({ names: ["account", "workspace", "domain", "other"], total: 4 });
  expect(await list(account, "page=2&page_size=3")).toEqual({ names: ["other"], total: 4 });
  expect(await list(account, "page=3&page_size=3")).toEqual({ names: [], total: 4 });
  const { text, body } = await send(account, "GET", "credentials");
  expect(text).not.toMatch(/secret|hash|argon2|hmac|"tag"|version/);
  expect(body.items[1]).toMatchObject({ scope_type: "workspace", last_used_at: null });
  expect(await list(await newAccount())).toEqual({ names: [], total: 0 });
});

test("shows a caller with narrow grants the master passwords inside their scopes, and the total agrees", async () => {
  const { account, domain, other } = await scene();
  const view = (type: "workspace" | "domain", id: string) => ({
    capability: "credential.view" as const,
    scope: { type, id },
  });
  const cases: [given: ReturnType<typeof view>[], names: string[]][] = [
    [[view("domain", domain.id)], ["domain"]],
    [[view("workspace", domain.workspace_id)], ["workspace", "domain"]],
    [
      [view("workspace", domain.workspace_id), view("domain", domain.id), view("domain", other.id)],
      ["workspace", "domain", "other"],
    ],
  ];
  for (const [given, names] of cases) {
    const member = await newMember(account, ...given);
    expect(await list(account, "", member)).toEqual({ names, total: names.length });
    expect(await list(account, `page=${names.length}&page_size=1`, member)).toEqual({
      names: names.slice(-1),
      total: names.length,
    });
  }
});

test("a master password of a moved domain is visible to a caller with access to the new workspace", async () => {
  const { account, domain } = await scene();
  const to = await newWorkspace(account, "To");
  const member = await newMember(account, { capability: "credential.view", scope: { type: "workspace", id: to } });
  expect((await list(account, "", member)).total).toBe(0);
  await domainsRequest(account, "POST", `/${domain.name}/move`, { workspace_id: to });
  expect(await list(account, "", member)).toEqual({ names: ["domain"], total: 1 });
});
