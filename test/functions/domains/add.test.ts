import { expect, test } from "vitest";

import { changesOf } from "../../../shared/changes/record.ts";
import type { Resolver } from "../../../shared/dns/answer.ts";
import { addDomain } from "../../../shared/domains/add.ts";
import { holderKey } from "../../../shared/domains/domain.ts";
import { nameserversOf } from "../../../shared/domains/platform.ts";
import { systemMover } from "../../../shared/domains/work.ts";
import type { Context } from "../../../shared/route.ts";
import { readEntries } from "../../../shared/table/journal.ts";
import { newWorkspace } from "../../support/auth.ts";
import { advance, domainOf, setStored, storedAs, workAt, write } from "../../support/domain-work.ts";
import { active, connected, delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { masked, storedOf } from "../../support/doors.ts";
import { request } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const add = (account: Account, name: unknown, workspace_id: string) =>
  domainsRequest(account, "POST", "", { name, workspace_id });

const totals = async (account: Account, workspaceId: string): Promise<[all: number, inWorkspace: number]> => [
  (await domainsRequest(account, "GET", "")).body.total,
  (await domainsRequest(account, "GET", `?workspace_id=${workspaceId}`)).body.total,
];

const statusesOf = (answers: readonly { status: number }[]): number[] =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b);

/** What happened in an account, the latest first: `domain.created`. */
async function eventsOf({ id }: Pick<Account, "id">): Promise<unknown[]> {
  const { rows } = await readEntries(testTable(), changesOf(id), { skip: 0, take: 100 }, new Date());
  return rows.map(({ type }) => type);
}

test("connects a domain that can be read at its Location at once, to be delegated to nameservers of the account", async () => {
  const account = await newAccount();
  const workspace_id = await newWorkspace(account, "Sales");
  const name = uniqueName();
  const created = await add(account, name, workspace_id);
  expect(created.status).toBe(201);
  expect(created.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    name,
    unicode_name: name,
    workspace_id,
    status: "pending_delegation",
    status_reason: null,
    outbound_routing_ready: false,
    source: "connected",
    nameservers: [expect.stringMatching(/^[0-9a-z]{12}\.ns1\./), expect.stringMatching(/^[0-9a-z]{12}\.ns2\./)],
    registration: null,
    auto_renew: false,
    redirect_url: null,
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

const long = (...lengths: number[]): string => lengths.map((length) => "a".repeat(length)).join(".");

const refused: [name: string, message: string][] = [
  ["com", "Write the name with its top-level domain"],
  ["localhost", "Write the name with its top-level domain"],
  ["ｅｘａｍｐｌｅ", "Write the name with its top-level domain"],
  ["co.uk", "co.uk is a public suffix"],
  ["Co.Uk.", "co.uk is a public suffix"],
  ["github.io", "github.io is a public suffix"],
  ["foo.kawasaki.jp", "foo.kawasaki.jp is a public suffix"],
  ["anything.ck", "anything.ck is a public suffix"],
  ["shop.test", "Names under .test are reserved"],
  ["shop.example", "Names under .example are reserved"],
  ["shop.invalid", "Names under .invalid are reserved"],
  ["shop.localhost", "Names under .localhost are reserved"],
  ["printer.local", "Names under .local are reserved"],
  ["hidden.onion", "Names under .onion are reserved"],
  ["wiki.internal", "Names under .internal are reserved"],
  ["1.0.0.10.in-addr.arpa", "Names under .arpa are reserved"],
  ["shop.no-such-tld", ".no-such-tld is not a top-level domain"],
  ["日本.日本", ".xn--wgv71a is not a top-level domain"],
  [long(64, 3).replace(/aaa$/, "com"), "is longer than 63 bytes"],
  [`${"ü".repeat(60)}.com`, "is longer than 63 bytes in its xn-- form"],
  [`${long(63, 63, 63, 58)}.com`, "The name is longer than 253 bytes"],
  ["", "The name is empty"],
  [" \t ", "The name is empty"],
  [".shop.com", "empty label"],
  ["shop..com", "empty label"],
  ["shop.com..", "empty label"],
  ["☕.com", '"☕" (U+2615) is not allowed in names'],
  ["💩.ws", "(U+1F4A9) is not allowed in names"],
  ["i❤shop.com", "(U+2764) is not allowed in names"],
  ["_dmarc.shop.com", "A host name has no underscore"],
  ["my_shop.com", "A host name has no underscore"],
  ["-shop.com", "no hyphen at its ends"],
  ["shop-.com", "no hyphen at its ends"],
  ["sh--op.com", "hyphens in its third and fourth place"],
  ["xn--a.com", "is not a valid internationalised label"],
  ["xn--.com", "is not a valid internationalised label"],
  ["192.0.2.1", "This is an address, not a name"],
  ["192.0.2.1.", "This is an address, not a name"],
  ["0x7f.1", "This is an address, not a name"],
  ["2001:db8::1", "Write the name alone"],
  ["[2001:db8::1]", "Write the name alone"],
  ["https://shop.com", "Write the name alone"],
  ["shop.com/about", "Write the name alone"],
  ["shop.com:443", "Write the name alone"],
  ["shop.com?a=b", "Write the name alone"],
  ["shop.com#top", "Write the name alone"],
  ["me@shop.com", "Write the name alone"],
  ["shop.com\\x", "Write the name alone"],
  ["*.shop.com", '"*" is not allowed in names'],
  ["sh%6fp.com", '"%" is not allowed in names'],
  ["my shop.com", "A name has no spaces"],
  ["sh\u00adop.com", "an invisible character (U+00AD)"],
  ["sh\u200bop.com", "an invisible character (U+200B)"],
  ["sh\u0000op.com", "an invisible character (U+0000)"],
  ["sh\ud800op.com", "an invisible character"],
];

test("refuses what is no name of a domain at its place, says why, and changes nothing", async () => {
  const account = await newRoomyAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const before = await storedOf(account);
  for (const [name, message] of refused) {
    const { status, body } = await add(account, name, workspaceId);
    const detail = [{ loc: ["body", "name"], type: "value_error", msg: expect.stringContaining(message) }];
    expect([status, body.detail], JSON.stringify(name)).toEqual([422, detail]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("takes a name under a public suffix that is a company's, one below a name, and one in the letters of its language", async () => {
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
    expect((await add(account, name, workspace_id)).body).toMatchObject({ unicode_name: unicode });
  }
});

test("knows one name in all its spellings: it is refused again in each, and found by each", async () => {
  const account = await newRoomyAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const end = uniqueName("x");
  const { body } = await add(account, `bücher-${end}`, workspaceId);
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
    const again = await add(account, name, workspaceId);
    expect(again.body, name).toMatchObject({ status: 409, code: "domain_exists", conflicts_with: body.name });
    const read = await domainsRequest(account, "GET", `/${encodeURIComponent(name)}`);
    expect(read.body, name).toMatchObject({ id: body.id, name: body.name, unicode_name: `bücher-${end}` });
  }
  expect(await totals(account, workspaceId)).toEqual([1, 1]);
});

test("lets one of many concurrent requests for a name win in an account, and counts it once", async () => {
  const account = await newAccount();
  const [name, workspaceId] = [uniqueName(), await newWorkspace(account, "Sales")];
  const answers = await Promise.all(Array.from({ length: 12 }, () => add(account, name, workspaceId)));
  expect(statusesOf(answers)).toEqual([201, ...Array(11).fill(409)]);
  expect(answers.filter(({ status }) => status === 409).every(({ body }) => body.code === "domain_exists")).toBe(true);
  expect(await totals(account, workspaceId)).toEqual([1, 1]);
});

test("lets one of many accounts win a name that all want at once, and leaves nothing of it in the others", async () => {
  const name = uniqueName();
  const scenes: { account: Account; workspaceId: string }[] = [];
  for (let count = 0; count < 4; count++) {
    const account = await newAccount();
    scenes.push({ account, workspaceId: await newWorkspace(account, "Sales") });
  }
  const answers = await Promise.all(
    scenes.map(({ account, workspaceId }) => Promise.all([0, 1, 2].map(() => add(account, name, workspaceId)))),
  );
  expect(statusesOf(answers.flat())).toEqual([201, ...Array(11).fill(409)]);
  for (const [index, { account, workspaceId }] of scenes.entries()) {
    const own = answers[index] ?? [];
    const hasWon = own.some(({ status }) => status === 201);
    expect(await totals(account, workspaceId)).toEqual(hasWon ? [1, 1] : [0, 0]);
    if (hasWon) continue;
    const refusal = { code: "domain_taken", nameservers: nameserversOf(account.id) };
    expect(own.map(({ body }) => body)).toMatchObject([refusal, refusal, refusal]);
    const { token } = account.owner;
    const gone = await request("DELETE", `/v1/public/accounts/${account.id}/workspaces/${workspaceId}`, { token });
    expect(gone.status).toBe(200);
  }
});

test("gives concurrent requests for different names all their place", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const answers = await Promise.all(Array.from({ length: 10 }, () => add(account, uniqueName(), workspaceId)));
  expect(statusesOf(answers)).toEqual(Array(10).fill(201));
  expect(await totals(account, workspaceId)).toEqual([10, 10]);
});

test("does not tell whether the other account has proved a name that is taken, only what the caller can do", async () => {
  const [holder, other] = [await newAccount(), await newAccount()];
  const workspaceId = await newWorkspace(other, "Sales");
  const [unproved, proved] = [await connected(holder), await active(holder)];
  const answers = [await add(other, unproved.name, workspaceId), await add(other, proved.name, workspaceId)];
  const [first, second] = answers.map(({ body }, index) =>
    masked(body).replaceAll([unproved.name, proved.name][index] ?? "", "<name>"),
  );
  expect(answers[0]?.body).toMatchObject({
    status: 409,
    code: "domain_taken",
    nameservers: nameserversOf(other.id),
  });
  expect(second).toBe(first);
  expect(first).not.toContain(holder.id);
  expect(await totals(other, workspaceId)).toEqual([0, 0]);
});

test("gives a name that nobody proved to the account its parent delegates to, and takes it from the other with all it had", async () => {
  const [old, newcomer] = [await newAccount(), await newAccount()];
  const { id, name, workspace_id } = await connected(old);
  const body = { domain: name, name: "www", type: "A", value: "192.0.2.1" };
  const records = `/v1/public/accounts/${old.id}/dns-records`;
  await request("POST", records, { token: old.owner.token, body });
  const member = await newMember(old, { role: "viewer", scope: { type: "domain", id } });
  await delegated(newcomer, name);
  const taken = await add(newcomer, name, await newWorkspace(newcomer, "Sales"));
  expect(taken.status).toBe(201);
  const left = await domainsRequest(old, "GET", `/${name}`);
  expect(left.body).toMatchObject({ status: "releasing", status_reason: expect.stringContaining("Another account") });

  expect(await advance(old, name)).toBeUndefined();
  expect((await domainsRequest(old, "GET", `/${name}`)).status).toBe(404);
  expect(await totals(old, workspace_id)).toEqual([0, 0]);
  expect((await request("GET", records, { token: old.owner.token })).body.total).toBe(0);
  const { token } = old.owner;
  expect((await request("DELETE", `/v1/public/accounts/${old.id}/workspaces/${workspace_id}`, { token })).status).toBe(
    200,
  );
  expect((await request("GET", `/v1/public/accounts/${old.id}`, { token: member.token })).status).toBe(404);
  const events = await eventsOf(old);
  expect(events).toEqual(expect.arrayContaining(["domain.taken_over", "dns_record.deleted", "domain.deleted"]));
  const { rows } = await readEntries(testTable(), changesOf(old.id), { skip: 0, take: 100 }, new Date());
  expect(rows.find(({ type }) => type === "domain.taken_over")).toMatchObject({
    actor_type: "system",
    resource_id: id,
  });

  const now = (await domainsRequest(newcomer, "GET", `/${name}`)).body;
  expect(now).toMatchObject({ id: taken.body.id, status: "pending_delegation", dns_record_count: 0 });
  expect((await add(old, name, await newWorkspace(old, "Again"))).body.code).toBe("domain_taken");
});

test("keeps a name that was proved with the account that proved it, wherever the parent delegates it since", async () => {
  const [holder, other] = [await newAccount(), await newAccount()];
  const { name } = await active(holder);
  await delegated(other, name);
  const refused = await add(other, name, await newWorkspace(other, "Sales"));
  expect(refused.body).toMatchObject({ code: "domain_taken" });
  expect((await storedAs(holder, name)).status).toBe("active");
});

test("gives a name that the parent delegates elsewhere to nobody", async () => {
  const [holder, other, third] = [await newAccount(), await newAccount(), await newAccount()];
  const { name } = await connected(holder);
  await delegated(third, name);
  expect((await add(other, name, await newWorkspace(other, "Sales"))).body.code).toBe("domain_taken");
  expect((await storedAs(holder, name)).status).toBe("pending_delegation");
});

test("a takeover happens once, however often it is asked for at the same time", async () => {
  const [holder, newcomer, other] = [await newAccount(), await newAccount(), await newAccount()];
  const { id, name } = await connected(holder);
  await delegated(newcomer, name);
  const [own, foreign] = [await newWorkspace(newcomer, "Sales"), await newWorkspace(other, "Sales")];
  const [asked, refused] = await Promise.all([
    Promise.all(Array.from({ length: 5 }, () => add(newcomer, name, own))),
    Promise.all(Array.from({ length: 3 }, () => add(other, name, foreign))),
  ]);
  expect(statusesOf(asked)).toEqual([201, ...Array(4).fill(409)]);
  expect(refused.map(({ body }) => body.code)).toEqual(Array(3).fill("domain_taken"));
  expect(await totals(newcomer, own)).toEqual([1, 1]);
  expect(await totals(other, foreign)).toEqual([0, 0]);
  const events = await eventsOf(holder);
  expect(events.filter((type) => type === "domain.taken_over")).toHaveLength(1);
  expect(await domainOf(holder, id)).toMatchObject({ status: "releasing", is_open: false });
});

/** The parent zone, as each of two accounts sees it at its own moment: delegated to them. */
const changeable = (accountId: string): Resolver => ({
  resolve: async () => ({ status: "none" }),
  delegation: async () => ({ status: "delegated", nameservers: nameserversOf(accountId) }),
});

test("of two accounts that both saw the name delegated to them one has it", async () => {
  const holder = await newAccount();
  const { name } = await connected(holder);
  const rivals = await Promise.all(
    [0, 1].map(async () => {
      const account = await newAccount();
      return { account, workspaceId: await newWorkspace(account, "Sales") };
    }),
  );
  const results = await Promise.allSettled(
    rivals.map(({ account, workspaceId }) => {
      const context = systemMover(workAt(new Date()), account.id) as Context;
      return addDomain(account.id, { name, workspaceId }, context, changeable(account.id));
    }),
  );
  const won = results.flatMap(({ status }, index) => (status === "fulfilled" ? [rivals[index]?.account.id] : []));
  expect(won).toHaveLength(1);
  expect(results.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "domain_taken" } });
  expect(await testTable().getMany([holderKey(name)])).toMatchObject([{ account_id: won[0] }]);
  const found = await Promise.all(rivals.map(({ account, workspaceId }) => totals(account, workspaceId)));
  expect(found).toEqual(rivals.map(({ account }) => (account.id === won[0] ? [1, 1] : [0, 0])));
});

test("says of a domain that is going away that it is, not that it is there", async () => {
  const account = await newAccount();
  const { name, workspace_id } = await connected(account);
  await setStored(account, name, { status: "releasing", is_open: false });
  const answer = await add(account, name, workspace_id);
  expect(answer.body).toMatchObject({ status: 409, code: "domain_not_ready", domain_status: "releasing" });
  expect(await totals(account, workspace_id)).toEqual([1, 1]);
});

test("connects a name whose registration failed, in place of that, and keeps that while the name is refused", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { id, name, workspace_id } = await connected(account);
  await setStored(account, name, { status: "failed", is_open: false, source: "purchased" });
  await write({ delete: holderKey(name) });
  const held = await connected(other, { name });
  expect((await add(account, name, workspace_id)).body).toMatchObject({ code: "domain_taken" });
  expect(await domainOf(account, id)).toMatchObject({ status: "failed" });
  await domainsRequest(other, "DELETE", `/${held.name}`);
  const again = await add(account, name, workspace_id);
  expect(again).toMatchObject({ status: 201, body: { status: "pending_delegation", source: "connected" } });
  expect(again.body.id).not.toBe(id);
  expect(await totals(account, workspace_id)).toEqual([1, 1]);
});

test("warns of a name that looks like another one of the account, and takes it", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const workspaceId = await newWorkspace(account, "Sales");
  const end = uniqueName("l");
  const names = [`paypal-${end}`, `pаypal-${end}`, `paypa1-${end}`];
  expect((await add(account, names[0], workspaceId)).body.warnings).toEqual([]);
  const second = await add(account, names[1], workspaceId);
  expect(second).toMatchObject({
    status: 201,
    body: { warnings: [{ code: "lookalike", names: [names[0]], message: expect.stringContaining(names[0] ?? "") }] },
  });
  const third = await add(account, names[2], workspaceId);
  expect(new Set(third.body.warnings[0].names)).toEqual(new Set([names[0], second.body.name]));
  expect((await connected(other, { name: `раypal-${end}` })).warnings).toEqual([]);
});

test("refuses a workspace that is not there, at its place", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  for (const workspaceId of [account.id, await newWorkspace(other, "Theirs")]) {
    const { status, body } = await add(account, uniqueName(), workspaceId);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["body", "workspace_id"], type: "not_found" }]);
  }
});
