import { expect, test } from "vitest";

import { holderKey } from "../../../shared/domains/domain.ts";
import { fingerprintOf } from "../../../shared/http/idempotency.ts";
import { newWorkspace } from "../../support/auth.ts";
import { domainOf, setStored, write } from "../../support/domain-work.ts";
import { connect, connected, domainsRequest, domainTotals, uniqueName } from "../../support/domains.ts";
import { request, statusesOf } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, testTable } from "../../support/world.ts";

test("connects a domain that can be read at its Location at once, with nameservers of the account", async () => {
  const account = await newAccount();
  const workspace_id = await newWorkspace(account, "Sales");
  const name = uniqueName();
  const created = await connect(account, name, workspace_id);
  expect(created.status).toBe(201);
  expect(created.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    name,
    unicode_name: name,
    workspace_id,
    status: "pending_delegation",
    status_reason: null,
    broken_records: [],
    deletes_at: null,
    outbound_routing_ready: false,
    source: "connected",
    dns_mode: "hosted",
    nameservers: [expect.stringMatching(/^[0-9a-z]{12}\.ns1\./), expect.stringMatching(/^[0-9a-z]{12}\.ns2\./)],
    registration: null,
    renewal: null,
    transfer: null,
    auto_renew: false,
    redirect_url: null,
    spf_includes: [],
    mta_sts_mode: "none",
    tls_report_email: null,
    dkim_keys: [],
    dkim_rotation_months: null,
    dmarc_policy: "none",
    dmarc_report_email: null,
    dedicated_ip_id: null,
    tags: [],
    warnings: [],
    verified_at: null,
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    updated_at: created.body.created_at,
  });
  const read = await request("GET", created.headers["location"] ?? "", { token: account.owner.token });
  expect(read.body).toEqual({ ...created.body, dns_records: [], dns_record_count: 0, mailboxes: [], mailbox_count: 0 });
  expect((await connected(await newAccount())).nameservers).not.toEqual(created.body.nameservers);
});

test("connects a domain with external DNS", async () => {
  const account = await newAccount();
  const workspace_id = await newWorkspace(account, "Sales");
  const given = { name: uniqueName(), workspace_id, dns_mode: "external" };
  expect(await domainsRequest(account, "POST", "", given)).toMatchObject({ status: 201, body: given });
});

test("accepts a subdomain, a name under a company's suffix (`github.io`), and an internationalised name", async () => {
  const account = await newAccount();
  const workspace_id = await newWorkspace(account, "Sales");
  const own = uniqueName();
  for (const [name, unicode] of [
    [own, own],
    [`mail.${own}`, `mail.${own}`],
    [`${own}.github.io`.replace(".com", ""), `${own}.github.io`.replace(".com", "")],
    [`bücher-${own}`, `bücher-${own}`],
    [`STRASSE-${own}`, `strasse-${own}`],
  ] as const) {
    expect((await connect(account, name, workspace_id)).body).toMatchObject({ unicode_name: unicode });
  }
});

test("a connected name in any spelling is refused as a second domain, and finds the domain", async () => {
  const account = await newRoomyAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const end = uniqueName("x");
  const { body } = await connect(account, `bücher-${end}`, workspaceId);
  const spellings = [
    `bücher-${end}`,
    `BÜCHER-${end.toUpperCase()}`,
    `bücher-${end}.`,
    ` bücher-${end} `,
    `bu\u0308cher-${end}`,
    `ｂｕ\u0308ｃｈｅｒ-${end}`,
    `bücher-${end.replace(".", "。")}`,
    `bücher-${end.replace(".", "．")}`,
    `bücher-${end.replace(".", "｡")}`,
    `bücher-${end.replace(".com", ".ｃｏｍ")}`,
    body.name,
    body.name.toUpperCase(),
    `${body.name}.`,
  ];
  expect(body.name).toMatch(/^xn--bcher-x/);
  for (const name of spellings) {
    const again = await connect(account, name, workspaceId);
    expect(again.body, name).toMatchObject({ status: 409, code: "domain_exists", conflicts_with: body.name });
    const read = await domainsRequest(account, "GET", `/${encodeURIComponent(name)}`);
    expect(read.body, name).toMatchObject({ id: body.id, name: body.name, unicode_name: `bücher-${end}` });
  }
  expect(await domainTotals(account, workspaceId)).toEqual([1, 1]);
});

test("of many concurrent requests of an account for a name, one succeeds, and the domain is counted once", async () => {
  const account = await newAccount();
  const [name, workspaceId] = [uniqueName(), await newWorkspace(account, "Sales")];
  const answers = await Promise.all(Array.from({ length: 12 }, () => connect(account, name, workspaceId)));
  expect(statusesOf(answers)).toEqual([201, ...Array(11).fill(409)]);
  expect(answers.filter(({ status }) => status === 409).every(({ body }) => body.code === "domain_exists")).toBe(true);
  expect(await domainTotals(account, workspaceId)).toEqual([1, 1]);
});

test("concurrent requests for different names all succeed, and all are counted", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const answers = await Promise.all(Array.from({ length: 10 }, () => connect(account, uniqueName(), workspaceId)));
  expect(statusesOf(answers)).toEqual(Array(10).fill(201));
  expect(await domainTotals(account, workspaceId)).toEqual([10, 10]);
});

test("answers `domain_not_ready`, not `domain_exists`, while the domain is `releasing`", async () => {
  const account = await newAccount();
  const { name, workspace_id } = await connected(account);
  await setStored(account, name, { status: "releasing", is_open: false });
  const answer = await connect(account, name, workspace_id);
  expect(answer.body).toMatchObject({ status: 409, code: "domain_not_ready", domain_status: "releasing" });
  expect(await domainTotals(account, workspace_id)).toEqual([1, 1]);
});

test("connects a name in place of its failed registration, which stays if the connection is refused", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { id, name, workspace_id } = await connected(account);
  await setStored(account, name, { status: "failed", is_open: false, source: "purchased" });
  await write({ delete: holderKey(name) });
  const held = await connected(other, { name });
  expect((await connect(account, name, workspace_id)).body).toMatchObject({ code: "domain_taken" });
  expect(await domainOf(account, id)).toMatchObject({ status: "failed" });
  await domainsRequest(other, "DELETE", `/${held.name}`);
  const again = await connect(account, name, workspace_id);
  expect(again).toMatchObject({ status: 201, body: { status: "pending_delegation", source: "connected" } });
  expect(again.body.id).not.toBe(id);
  expect(await domainTotals(account, workspace_id)).toEqual([1, 1]);
});

test("connects a name that looks like another name of the account, and warns", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const workspaceId = await newWorkspace(account, "Sales");
  const end = uniqueName("l");
  const names = [`paypal-${end}`, `pаypal-${end}`, `paypa1-${end}`];
  expect((await connect(account, names[0], workspaceId)).body.warnings).toEqual([]);
  const second = await connect(account, names[1], workspaceId);
  expect(second).toMatchObject({
    status: 201,
    body: { warnings: [{ code: "lookalike", names: [names[0]], message: expect.stringContaining(names[0] ?? "") }] },
  });
  const third = await connect(account, names[2], workspaceId);
  expect(new Set(third.body.warnings[0].names)).toEqual(new Set([names[0], second.body.name]));
  expect((await connected(other, { name: `раypal-${end}` })).warnings).toEqual([]);
});

test("a request that version 0.1.0 answered, without a `dns_mode`, gets the same answer again", async () => {
  const account = await newAccount();
  const body = { name: uniqueName(), workspace_id: await newWorkspace(account, "Sales") };
  const send = () => domainsRequest(account, "POST", "", body, { "idempotency-key": "k" });
  const { body: created } = await send();
  const [claim] = await testTable().between(
    `PRINCIPAL#${account.owner.id}`,
    "IDEMPOTENCY#domains.add#",
    "IDEMPOTENCY#e",
  );
  const fingerprint = fingerprintOf("k", { params: { account_id: account.id }, query: {}, body });
  const update = { PK: claim?.PK ?? "", SK: claim?.SK ?? "" };
  // Version 0.1.0 stored only this fingerprint. Its input had no default for `dns_mode`.
  await testTable().attempt({ update, set: { fingerprint }, remove: ["sent_fingerprint"] });
  expect(await send()).toMatchObject({ status: 201, body: created, headers: { "idempotency-replayed": "true" } });
});
