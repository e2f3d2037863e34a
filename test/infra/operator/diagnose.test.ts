import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { diagnoseCommands } from "../../../infra/operator/diagnose-command.ts";
import { zoneQueue } from "../../../shared/domains/zone.ts";
import { rateKey } from "../../../shared/rate-limits/limiter.ts";
import { setOwnLimit } from "../../../shared/rate-limits/own-limits.ts";
import { dueWrite } from "../../../shared/table/due.ts";
import { newWorkspace } from "../../support/auth.ts";
import { fund } from "../../support/billing.ts";
import { uniqueName } from "../../support/domains.ts";
import { added, home } from "../../support/mailboxes.ts";
import { fillDomains } from "../../support/many-domains.ts";
import { request } from "../../support/request.ts";
import { newAccount, testTable } from "../../support/world.ts";
import { operator } from "./command-line.ts";

const diagnose = (account: string) =>
  diagnoseCommands["account diagnose"]?.run(testTable(), { account }, { open: () => testTable() });

test("a diagnosis has the money, the domains, the mailboxes, the due work, the webhooks and the last changes", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  const domain = await home(account);
  await fund(account, 5_000);
  await added(account, domain.id);
  const hook = await request("POST", `/v1/public/accounts/${id}/webhooks`, {
    token: owner.token,
    body: { url: "http://127.0.0.1:1/hook", event_types: ["*"] },
  });
  await request("PATCH", `/v1/public/accounts/${id}/webhooks/${hook.body.id}`, {
    token: owner.token,
    body: { active: false },
  });
  await setOwnLimit(testTable(), id, "search", { perMinute: 7, burst: 3 });
  const write = dueWrite(zoneQueue, [id, domain.id], "2026-01-02T03:04:05.000Z");
  await testTable().commit(async () => ({ value: undefined, writes: [write] }));
  const bucket = `${owner.id}#search`;
  await testTable().attempt({ update: rateKey(bucket), set: { tat: Date.now() + 3_600_000 } });

  const found = await diagnose(id);
  expect(found).toMatchObject({
    account: { id, status: "active" },
    wallet: { balance: "50.00" },
    domains: { total: 1 },
    mailboxes: { total: 1 },
    members: { total: 1 },
    webhooks_in_trouble: [{ id: hook.body.id, status: "disabled", disabled_reason: "by_user", failing: false }],
    suppressions: { total: 0 },
    open_orders: [],
  });
  expect(found?.["overdue_work"]).toContainEqual({ queue: "ZONE_DUE", tasks: 1, oldest: "2026-01-02T03:04:05.000Z" });
  expect(JSON.stringify(found?.["limits"])).toContain('"per_minute":7');
  expect(found?.["rate_limits"]).toContainEqual(
    expect.objectContaining({ bucket, empty_in_seconds: expect.any(Number) }),
  );
  expect(JSON.stringify(found?.["recent_changes"])).toContain("webhooks.update");
});

test("a diagnosis looks at all domains of an account with more than a hundred", async () => {
  const account = await newAccount();
  const names = Array.from({ length: 101 }, () => uniqueName());
  const place = { accountId: account.id, workspaceId: await newWorkspace(account, "Many") };
  await fillDomains(testTable(), place, names);
  const found = await diagnose(account.id);
  expect(found).toMatchObject({ domains: { total: names.length, by_status: { pending_delegation: names.length } } });
});

test("a diagnosis shows no secret", async () => {
  const account = await newAccount();
  const { body: hook } = await request("POST", `/v1/public/accounts/${account.id}/webhooks`, {
    token: account.owner.token,
    body: { url: "http://127.0.0.1:1/hook", event_types: ["*"] },
  });
  const { body: robot } = await request("POST", `/v1/public/accounts/${account.id}/auth/service-accounts`, {
    token: account.owner.token,
    body: { name: "robot" },
  });
  const text = JSON.stringify(await diagnose(account.id));
  const secrets = [hook, robot].flatMap((body) =>
    Object.entries(body as Record<string, unknown>).flatMap(([name, value]) =>
      /secret|token/.test(name) ? [value] : [],
    ),
  );
  expect(secrets.filter((secret) => typeof secret === "string").length).toBeGreaterThan(1);
  for (const secret of secrets.filter((one) => typeof one === "string" && one.length > 20))
    expect(text).not.toContain(secret);
});

test("a diagnosis is lines of text, or JSON with --json, and an unknown account is an error", async () => {
  const { id } = await newAccount();
  const text = await operator("account", "diagnose", "--account", id, "--table", "test", "--stage", "dev");
  expect(text).toMatchObject({ code: 0, err: "" });
  expect(text.out).toMatch(/^wallet .*balance/m);
  const json = await operator("account", "diagnose", "--account", id, "--table", "test", "--stage", "dev", "--json");
  expect(JSON.parse(json.out)).toMatchObject({ account: { id }, overdue_work: expect.any(Array) });
  expect(
    await operator("account", "diagnose", "--account", randomUUID(), "--table", "test", "--stage", "dev"),
  ).toMatchObject({
    code: 1,
  });
});
