import { expect, test } from "vitest";

import type { ForwardingRule } from "../../../shared/mail/forwarding/rule.ts";
import { agreedRule, ofRule, ruleTo, stranger } from "../../support/forwarding.ts";
import { home, send } from "../../support/mailboxes.ts";
import { newAccount, newMember, type Account, type User } from "../../support/world.ts";

async function list(account: Account, query: Record<string, string> = {}, as?: User) {
  const path = `forwarding?${new URLSearchParams(query).toString()}`;
  const { status, body, text } = await send(account, "GET", path, undefined, as ? { as } : {});
  if (status !== 200) throw new Error(text);
  return { targets: body.items.map((rule: ForwardingRule) => rule.target_email), total: body.total };
}

async function scene() {
  const account = await newAccount();
  const [domain, other] = [await home(account), await home(account)];
  const targets = {
    all: stranger("all"),
    workspace: stranger("workspace"),
    domain: stranger("domain"),
    other: stranger("other"),
  };
  const { id } = await ruleTo(account, targets.all);
  await ruleTo(account, targets.workspace, { workspace_id: domain.workspace_id });
  await agreedRule(account, targets.domain, { domain: domain.name });
  await ruleTo(account, targets.other, { domain: other.id });
  await send(account, "PATCH", ofRule(id, "/active"), { active: false });
  return { account, domain, other, targets };
}

test("lists oldest first with an exact total, without the links and codes", async () => {
  const { account, targets } = await scene();
  expect(await list(account)).toEqual({ targets: Object.values(targets), total: 4 });
  expect(await list(account, { page: "2", page_size: "3" })).toEqual({ targets: [targets.other], total: 4 });
  expect(await list(account, { page: "9" })).toEqual({ targets: [], total: 4 });
  const { text } = await send(account, "GET", "forwarding");
  expect(text).not.toMatch(/token|code|hash|version|tries/);
});

test("filters by scope, target, `active` and state: a rule must match all filters", async () => {
  const { account, domain, targets } = await scene();
  const cases: [query: Record<string, string>, names: (keyof typeof targets)[]][] = [
    [{ domain: domain.name.toUpperCase() }, ["domain"]],
    [{ domain: domain.id }, ["domain"]],
    [{ workspace_id: domain.workspace_id }, ["workspace"]],
    [{ target_email: targets.other.toUpperCase() }, ["other"]],
    [{ active: "false" }, ["all"]],
    [{ active: "true", verification_state: "pending" }, ["workspace", "other"]],
    [{ verification_state: "verified" }, ["domain"]],
    [{ verification_state: "expired" }, []],
    [{ verification_state: "verified", target_email: targets.all }, []],
    [{ domain: "nowhere.com" }, []],
  ];
  for (const [query, names] of cases) {
    const expected = { targets: names.map((name) => targets[name]), total: names.length };
    expect(await list(account, query), JSON.stringify(query)).toEqual(expected);
  }
});

test("shows a caller with narrow grants the rules inside their scopes, and the total agrees", async () => {
  const { account, domain, other, targets } = await scene();
  const view = (type: "workspace" | "domain", id: string) =>
    ({ capability: "forwarding.view", scope: { type, id } }) as const;
  const ofWorkspace = await newMember(account, view("workspace", domain.workspace_id));
  expect(await list(account, {}, ofWorkspace)).toEqual({ targets: [targets.workspace, targets.domain], total: 2 });
  const ofDomain = await newMember(account, view("domain", other.id));
  expect(await list(account, {}, ofDomain)).toEqual({ targets: [targets.other], total: 1 });
  expect(await list(account, { verification_state: "verified" }, ofDomain)).toEqual({ targets: [], total: 0 });
  const { items } = (await send(account, "GET", `forwarding?target_email=${targets.other}`)).body;
  const ofRuleAlone = await newMember(account, {
    capability: "forwarding.view",
    scope: { type: "forwarding", id: items[0].id },
  });
  expect(await list(account, {}, ofRuleAlone)).toEqual({ targets: [targets.other], total: 1 });
});
