import { expect, test } from "vitest";

import { route } from "../../../functions/webhooks/add.ts";
import { eventTypes } from "../../../shared/webhooks/event-types.ts";
import { storedOf } from "../../support/entry-points.ts";
import { request } from "../../support/request.ts";
import { acceptingUrl } from "../../support/webhook-receiver.ts";
import { call } from "../../support/webhooks.ts";
import { grant, newAccount, newMember, newSuperAdmin } from "../../support/world.ts";

const url = "https://example.com/hooks";
const event_types = ["workspace.*"];

test("creates a webhook whose secret is shown once, is stored only in sealed form, and is in no event", async () => {
  const account = await newAccount();
  const created = await call(account, "POST", "", { url, event_types: ["workspace.created"], description: "Ours" });
  expect(created.status).toBe(201);
  const { secret, ...webhook } = created.body;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(webhook).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    account_id: account.id,
    url,
    event_types: ["workspace.created"],
    description: "Ours",
    status: "active",
    disabled_reason: null,
    disabled_at: null,
    previous_secret_expires_at: null,
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    updated_at: webhook.created_at,
  });
  const read = await request("GET", created.headers["location"] ?? "", { token: account.owner.token });
  expect(read.body).toEqual(webhook);
  const stored = await storedOf(account);
  expect(JSON.stringify(stored)).toContain(webhook.id);
  expect(JSON.stringify(stored)).not.toContain(secret.slice("whsec_".length));
  const changes = stored.filter(({ type }) => type === "webhook.created");
  expect(changes).toHaveLength(1);
  expect(JSON.stringify(changes)).not.toMatch(/sealed|aes1:/);
});

test.each([
  ["http://example.com/hooks", "https"],
  ["https://user:secret@example.com/", "credentials"],
  ["https://10.0.0.1/", "public internet"],
  ["https://[fd00::1]/", "public internet"],
  ["https://example.com/#here", "fragment"],
  ["not a url", "not a URL"],
  [`https://example.com/${"x".repeat(2_048)}`, "2048 characters"],
])("refuses the URL %s, and creates nothing", async (bad, reason) => {
  const account = await newAccount();
  const { status, body } = await call(account, "POST", "", { url: bad, event_types });
  expect(status).toBe(422);
  expect(body.detail).toMatchObject([{ loc: ["body", "url"], msg: expect.stringContaining(reason) }]);
  expect((await call(account, "GET", "")).body.total).toBe(0);
});

test("refuses patterns that match no event, and names the index of each", async () => {
  const account = await newAccount();
  const patterns = ["workspace.*", "workspace.exploded", "nothing.*", "work*", "WORKSPACE.CREATED"];
  const { status, body } = await call(account, "POST", "", { url, event_types: patterns });
  expect(status).toBe(422);
  const places = body.detail.map(({ loc }: { loc: unknown[] }) => loc.join(" "));
  expect(places.toSorted()).toEqual([1, 2, 3, 4].map((index) => `body event_types ${index}`));
});

test("names the event types of the family for a misspelt type, and all event types for an unknown family", async () => {
  const account = await newAccount();
  const refuse = async (pattern: string): Promise<string> =>
    (await call(account, "POST", "", { url, event_types: [pattern] })).body.detail[0].msg;
  expect(await refuse("workspace.made")).toMatch(/: workspace\.created, workspace\.updated, workspace\.deleted$/);
  const all = await refuse("nothing.*");
  for (const { type } of eventTypes()) expect(all).toContain(type);
});

test.each([
  [{ event_types: [] }, ["body", "event_types"]],
  [{ event_types: Array(51).fill("*") }, ["body", "event_types"]],
  [{ event_types: "*" }, ["body", "event_types"]],
  [{ description: "x".repeat(501) }, ["body", "description"]],
  [{ description: "\u0000" }, ["body", "description"]],
  [{ secret: "whsec_mine" }, ["body", "secret"]],
  [{ active: false }, ["body", "active"]],
])("refuses %j", async (more, loc) => {
  const account = await newAccount();
  const { status, body } = await call(account, "POST", "", { url, event_types, ...more });
  expect([status, body.detail[0].loc]).toEqual([422, loc]);
});

test("a caller cannot subscribe to events that the caller may not see in the whole account", async () => {
  const account = await newAccount();
  const member = await newMember(account, { role: "manager" });
  const subscribe = (...patterns: string[]) => call(account, "POST", "", { url, event_types: patterns }, member);
  for (const pattern of ["auth.*", "auth.grant.created", "feedback.*", "feedback.submitted", "*"]) {
    const { body } = await subscribe("workspace.*", pattern);
    expect(body).toMatchObject({ status: 403, code: "would_escalate" });
    expect(body.missing).toContain("auth.manage");
  }
  expect((await subscribe("workspace.*", "account.*", "webhook.*")).status).toBe(201);
  await grant(
    account,
    member,
    { capability: "auth.manage" },
    { capability: "billing.view" },
    { capability: "credential.view" },
  );
  expect((await subscribe("*")).status).toBe(201);
});

test("a capability on one workspace does not allow a subscription to the events of all workspaces", async () => {
  const account = await newAccount();
  const workspaces = `/v1/public/accounts/${account.id}/workspaces`;
  const { body } = await request("POST", workspaces, { token: account.owner.token, body: { name: "Mine" } });
  const scope = { type: "workspace" as const, id: body.id };
  const member = await newMember(account, { capability: "webhook.manage" }, { role: "viewer", scope });
  const refused = await call(account, "POST", "", { url, event_types }, member);
  expect(refused.body).toMatchObject({ code: "would_escalate", missing: ["workspace.view"] });
});

test("a super admin subscribes to everything", async () => {
  const account = await newAccount();
  const admin = await newSuperAdmin();
  expect((await call(account, "POST", "", { url, event_types: ["*"] }, admin)).status).toBe(201);
});

test("an account can have 20 webhooks, even if more are added at once; a deletion makes room for another", async () => {
  const account = await newAccount();
  const members = await Promise.all([1, 2].map(() => newMember(account, { role: "manager" })));
  const adding = Array.from({ length: 24 }, (_, index) =>
    call(account, "POST", "", { url, event_types }, members[index % 2]),
  );
  const answers = await Promise.all(adding);
  const codes = answers.map(({ status, body }) => (status === 201 ? 201 : body.code));
  expect(codes.filter((code) => code === 201)).toHaveLength(20);
  expect(codes.filter((code) => code === "limit_reached")).toHaveLength(4);
  const { items, total } = (await call(account, "GET", "")).body;
  expect([items.length, total]).toEqual([20, 20]);
  await call(account, "DELETE", `/${items[7].id}`);
  expect((await call(account, "POST", "", { url, event_types })).status).toBe(201);
  expect((await call(account, "POST", "", { url, event_types })).body.code).toBe("limit_reached");
});

test("the description of the route names every event type", () => {
  for (const { type } of eventTypes()) expect(route.description).toContain(`\`${type}\``);
});

test("a URL on this machine is accepted if the environment allows it", async () => {
  const account = await newAccount();
  expect((await call(account, "POST", "", { url: await acceptingUrl(), event_types })).status).toBe(201);
});

test("the audit log hides a credential in the query of the URL", async () => {
  const account = await newAccount();
  const { body } = await call(account, "POST", "", { url: "https://example.com/in?token=hidden", event_types });
  expect(body.url).toBe("https://example.com/in?token=hidden");
  const log = await request("GET", `/v1/public/accounts/${account.id}/audit-log`, { token: account.owner.token });
  expect(log.text).toContain("https://example.com/in?…");
  expect(log.text).not.toContain("hidden");
});
