import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { ipKey, operationQueue } from "../../../../shared/dedicated-ips/dedicated-ip.ts";
import { beginWrites, operationKey, readOperation } from "../../../../shared/dedicated-ips/operation.ts";
import { readDue } from "../../../../shared/table/due.ts";
import { loseRole, newWorkspace } from "../../../support/auth.ts";
import {
  activeHost,
  activeIp,
  assignmentFaults,
  carriedOn,
  claimed,
  send,
  storedIp,
} from "../../../support/dedicated-ips.ts";
import { removeForGood } from "../../../support/domain-deletions.ts";
import { dig, quicklyActive, setStored, storedAs, write } from "../../../support/domain-work.ts";
import { connected, delegated, domainsRequest, funded, uniqueName } from "../../../support/domains.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { withFault } from "../../../support/faults.ts";
import { stockedDomains } from "../../../support/many-domains.ts";
import { eventsOf } from "../../../support/notices.ts";
import { happened } from "../../../support/purchases.ts";
import { publicIp } from "../../../support/reverse-dns.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { newAccount, newMember, testTable, type Account } from "../../../support/world.ts";

const assign = (account: Account, id: string, domains: unknown, options = {}) =>
  send(account, "POST", `/${id}/domains/assign`, { domains }, options);
const unassign = (account: Account, id: string, domains: unknown, options = {}) =>
  send(account, "POST", `/${id}/domains/unassign`, { domains }, options);

/** An account with high limits and enough money for the tests below. */
async function rich(): Promise<Account> {
  const account = await newRoomyAccount();
  return funded(account, 1_000_000);
}

const ipOf = async (account: Account, name: string): Promise<string | null> =>
  (await storedAs(account, name)).dedicated_ip_id;

test("assigns domains by id or any spelling of the name; the answer, the domains and the events show the assignment", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const [one, other] = [await connected(account), await connected(account)];
  const { status, body } = await assign(account, id, [`${one.name.toUpperCase()}.`, other.id, one.id]);
  expect(status).toBe(200);
  expect(body).toMatchObject({ id, domain_count: 2 });
  expect(body.domains).toEqual([one, other].map((domain) => ({ id: domain.id, name: domain.name })));
  expect((await send(account, "GET", `/${id}`)).body).toMatchObject(body as object);
  expect((await domainsRequest(account, "GET", `/${one.name}`)).body.dedicated_ip_id).toBe(id);
  expect(await assignmentFaults(account)).toEqual([]);
  const events = await happened(account);
  expect(events.filter((type) => type === "domain.updated")).toHaveLength(2);
  expect(events.filter((type) => type === "dedicated_ip.domains_assigned")).toHaveLength(1);
});

test("the events of a dedicated IP do not tell how many domains send from it", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  await assign(account, id, [(await connected(account)).name]);
  const events = await eventsOf(account, "dedicated_ip.created", "dedicated_ip.domains_assigned");
  expect(events.map(({ data }) => data)).toEqual([
    expect.objectContaining({ domain_count: null }),
    expect.objectContaining({ domain_count: null }),
  ]);
  expect(JSON.stringify(events)).not.toMatch(/"domain_count":\d/);
});

test("the SPF record of an active domain names the addresses of its IP, until the domain is unassigned", async () => {
  const account = await rich();
  const ips = [publicIp(), publicIp(6)];
  const { id } = await activeHost(account, ips);
  const { name } = await quicklyActive(account);
  const spf = async () => ((await dig(name, "TXT")) as string[]).find((text) => text.startsWith("v=spf1"));
  expect(await spf()).toBe("v=spf1 include:_spf.hosted-mail.example ~all");
  expect((await assign(account, id, [name])).status).toBe(200);
  expect(await spf()).toBe(`v=spf1 ip4:${ips[0]} ip6:${ips[1]} include:_spf.hosted-mail.example ~all`);
  const health = (await domainsRequest(account, "GET", `/${name}/health`)).body;
  expect(health.checks.find((check: { name: string }) => check.name === "spf")).toMatchObject({ status: "pass" });
  expect((await unassign(account, id, [name])).status).toBe(200);
  expect(await spf()).toBe("v=spf1 include:_spf.hosted-mail.example ~all");
  expect(await assignmentFaults(account)).toEqual([]);
});

test("a domain that is delegated after its assignment gets an SPF record with the addresses of its IP", async () => {
  const account = await rich();
  const { id, ip_addresses } = await activeIp(account);
  const { name } = await connected(account);
  await assign(account, id, [name]);
  await delegated(account, name);
  expect((await domainsRequest(account, "POST", `/${name}/verify`)).body.status).toBe("active");
  expect(await dig(name, "TXT")).toContain(`v=spf1 ip4:${ip_addresses[0]?.ip} include:_spf.hosted-mail.example ~all`);
  expect(await assignmentFaults(account)).toEqual([]);
});

let hundred: Promise<{ account: Account; names: string[] }> | undefined;

/** An account with a hundred domains. Two tests share it, and each of them leaves all domains unassigned. */
const withHundred = () =>
  (hundred ??= rich().then(async (account) => ({ account, names: await stockedDomains(account, 100) })));

test("one call can assign or unassign a hundred domains, and not more", { timeout: 60_000 }, async () => {
  const { account, names } = await withHundred();
  const { id } = await activeIp(account);
  const { status, body, text } = await assign(account, id, names);
  expect([status, body.domain_count], text).toEqual([200, 100]);
  expect(body.domains).toHaveLength(100);
  expect(await assignmentFaults(account)).toEqual([]);
  expect((await assign(account, id, names)).body.domain_count).toBe(100);
  const back = await unassign(account, id, names);
  expect([back.status, back.body.domain_count, back.body.domains]).toEqual([200, 0, []]);
  expect(await assignmentFaults(account)).toEqual([]);
  expect((await assign(account, id, [...names, uniqueName()])).body.detail).toMatchObject([
    { loc: ["body", "domains"] },
  ]);
});

test("if one of a hundred domains cannot be assigned, none is assigned", { timeout: 60_000 }, async () => {
  const { account, names } = await withHundred();
  const [{ id }, other] = [await activeIp(account), await activeIp(account)];
  await assign(account, other.id, [names[70]]);
  const before = await storedOf(account);
  const { status, body } = await assign(account, id, names);
  expect([status, body.code, body.domain, body.dedicated_ip_id]).toEqual([409, "domain_has_ip", names[70], other.id]);
  const gone = await assign(account, id, [...names.slice(0, 98), uniqueName(), randomUUID()]);
  expect([gone.status, gone.body.detail.map(({ loc }: { loc: unknown }) => loc)]).toEqual([
    422,
    [
      ["body", "domains", 98],
      ["body", "domains", 99],
    ],
  ]);
  expect(await storedOf(account)).toEqual(before);
  expect((await unassign(account, other.id, [names[70]])).status).toBe(200);
});

test("the worker undoes an assignment that was not finished, even if one of its domains was deleted", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const [one, other] = [await connected(account), await connected(account)];
  const ip = await storedIp(account, id);
  const begun = beginWrites(
    {
      id: randomUUID(),
      account_id: account.id,
      dedicated_ip_id: id,
      kind: "assign",
      left: [one.id, other.id],
      domain_count: 0,
    },
    new Date(),
  );
  await testTable().commit(async () => ({ value: undefined, writes: begun.writes }));
  await removeForGood(account, other.name);
  await carriedOn(account, id);
  expect(await storedIp(account, id)).toEqual(ip);
  expect(await ipOf(account, one.name)).toBeNull();
  expect(await assignmentFaults(account)).toEqual([]);
});

test("is refused for a dedicated IP that is not ready, and for a domain that is being deleted", async () => {
  const account = await rich();
  const { name } = await connected(account);
  const pending = await claimed(account);
  expect((await assign(account, pending.id, [name])).body).toMatchObject({
    status: 409,
    code: "ip_not_ready",
    ip_status: "provisioning",
  });
  const { id } = await activeIp(account);
  await setStored(account, name, { status: "releasing", is_open: false });
  expect((await assign(account, id, [name])).body).toMatchObject({ status: 409, code: "domain_not_ready" });
  expect(await assignmentFaults(account)).toEqual([]);
});

test("domains can be assigned to a degraded IP", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const { name } = await connected(account);
  await write({ update: ipKey(account.id, id), set: { status: "degraded" } });
  expect((await assign(account, id, [name])).status).toBe(200);
});

test("concurrent assignments to two IPs put all domains on one IP, and counts, lists and records agree", async () => {
  const account = await rich();
  const [one, other] = [await activeIp(account), await activeIp(account)];
  const names = await stockedDomains(account, 12);
  for (let time = 0; time < 5; time++) {
    const answers = await Promise.all([
      assign(account, one.id, names),
      assign(account, other.id, names.toReversed()),
      assign(account, one.id, names.slice(0, 6)),
    ]);
    for (const { status, body } of answers) {
      expect([200, 409, 503], JSON.stringify(body)).toContain(status);
      if (status === 409) expect(body.code).toBe("domain_has_ip");
    }
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect(await assignmentFaults(account)).toEqual([]);
    const owners = new Set(await Promise.all(names.map((name) => ipOf(account, name))));
    expect(owners.size).toBe(1);
    await Promise.all([unassign(account, one.id, names), unassign(account, other.id, names)]);
    expect(await assignmentFaults(account)).toEqual([]);
    expect((await storedIp(account, one.id))?.domain_count).toBe(0);
  }
});

test("concurrent assignments to one IP all succeed", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const names = await stockedDomains(account, 8);
  const answers = await Promise.all(names.map((name) => assign(account, id, [name])));
  expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
  expect((await storedIp(account, id))?.domain_count).toBe(8);
  expect(await assignmentFaults(account)).toEqual([]);
});

const writes = /^(?:Transact|Put|Update|Delete)/;

test(
  "an assignment that dies at any write is finished or undone by the worker, or finished by a repeated request",
  { timeout: 60_000 },
  async () => {
    const account = await rich();
    const ip = await activeIp(account);
    const names = await stockedDomains(account, 12);
    const { calls } = await withFault(undefined, -1, () => assign(account, ip.id, names));
    const places = calls.flatMap((command, at) => (writes.test(command) ? [at] : []));
    expect(places.length).toBeGreaterThan(3);
    for (const [index, at] of places.entries()) {
      for (const fault of ["answer lost", "lost before"] as const) {
        expect((await unassign(account, ip.id, names)).status).toBe(200);
        expect((await storedIp(account, ip.id))?.domain_count).toBe(0);
        const { value: died } = await withFault(fault, at, () => assign(account, ip.id, names));
        expect([200, 503], died.text).toContain(died.status);
        const isByWorker = index % 2 === 0;
        if (isByWorker) await carriedOn(account, ip.id);
        else {
          const operation = await readOperation(testTable(), account.id, ip.id);
          // A request finishes an operation that began more than a minute ago.
          const longAgo = new Date(Date.now() - 120_000).toISOString();
          const key = operationKey(account.id, ip.id);
          if (operation) await write({ update: key, set: { begun_at: longAgo } });
          expect((await assign(account, ip.id, names)).status, `${fault} at ${at}`).toBe(200);
        }
        expect(await assignmentFaults(account), `${fault} at ${at}`).toEqual([]);
        const count = (await storedIp(account, ip.id))?.domain_count;
        expect(isByWorker ? [0, 12] : [12], `${fault} at ${at}`).toContain(count);
      }
    }
  },
);

test(
  "an assignment waits for an open assignment to the same IP, and gets 503 `busy` if the wait takes too long",
  { timeout: 20_000 },
  async () => {
    const account = await rich();
    const { id } = await activeIp(account);
    const { name } = await connected(account);
    const { operation, writes: begun } = beginWrites(
      { id: randomUUID(), account_id: account.id, dedicated_ip_id: id, kind: "assign", left: [], domain_count: 0 },
      new Date(),
    );
    await testTable().commit(async () => ({ value: undefined, writes: begun }));
    const { status, body, headers } = await assign(account, id, [name]);
    expect([status, body.code, headers["retry-after"]]).toEqual([503, "busy", "1"]);
    expect((await send(account, "DELETE", `/${id}`)).body).toMatchObject({ status: 409, code: "ip_in_use" });
    expect((await readDue(testTable(), operationQueue, new Date(Date.now() + 120_000))).flat()).toContainEqual({
      at: operation.due_at,
      subject: [account.id, id],
    });
    await carriedOn(account, id);
    expect((await assign(account, id, [name])).status).toBe(200);
  },
);

test("needs ip.assign on every domain, and a dedicated IP that the caller can see", async () => {
  const account = await rich();
  const [{ id }, unseen] = [await activeIp(account), await activeIp(account)];
  const workspaceId = await newWorkspace(account, "Sales");
  const [mine, also] = [await connected(account, { workspaceId }), await connected(account, { workspaceId })];
  const theirs = await connected(account);
  await assign(account, id, [mine.name]);
  const editor = await newMember(account, { role: "editor", scope: { type: "workspace", id: workspaceId } });
  const by = (ip: string, domains: string[]) => assign(account, ip, domains, { as: editor });
  const { status, body } = await by(id, [also.name, theirs.name, uniqueName()]);
  expect([status, body.detail]).toEqual([
    422,
    [1, 2].map((index) => ({
      loc: ["body", "domains", index],
      msg: "There is no such domain in this account, or you cannot see it",
      type: "not_found",
    })),
  ]);
  expect((await by(unseen.id, [also.name])).status).toBe(404);
  expect((await by(id, [also.name])).body).toMatchObject({
    domain_count: null,
    domains: [{ id: mine.id }, { id: also.id }],
  });
  const viewer = await newMember(account, { role: "viewer" });
  expect((await assign(account, id, [theirs.name], { as: viewer })).body).toMatchObject({
    required_capability: "ip.assign",
  });
  const stranger = await newAccount();
  const foreign = await connected(stranger);
  expect((await assign(account, id, [foreign.name])).body.detail).toMatchObject([{ loc: ["body", "domains", 0] }]);
});

test("needs ip.assign on the dedicated IP too, and hides one that the caller cannot see", async () => {
  const account = await rich();
  const [seen, unseen] = [await activeIp(account), await activeIp(account)];
  const workspaces = [await newWorkspace(account, "Sales"), await newWorkspace(account, "Support")];
  const [mine, theirs] = await Promise.all(workspaces.map((workspaceId) => connected(account, { workspaceId })));
  await assign(account, seen.id, [theirs?.name]);
  const on = (id = "") => ({ type: "workspace" as const, id });
  const as = await newMember(
    account,
    { role: "editor", scope: on(workspaces[0]) },
    { role: "viewer", scope: on(workspaces[1]) },
  );
  expect((await send(account, "GET", `/${seen.id}`, undefined, { as })).status).toBe(200);
  expect((await assign(account, seen.id, [mine?.name], { as })).body).toMatchObject({
    status: 403,
    code: "forbidden",
    required_capability: "ip.assign",
  });
  expect((await assign(account, unseen.id, [mine?.name], { as })).body).toMatchObject({ code: "not_found" });
  expect(await ipOf(account, mine?.name ?? "")).toBeNull();
});

test("a repeat is refused if the caller may not assign the domains any more", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const workspaces = [await newWorkspace(account, "Sales"), await newWorkspace(account, "Support")];
  const [one, other] = await Promise.all(workspaces.map((workspaceId) => connected(account, { workspaceId })));
  await assign(account, id, [one?.id, other?.id]);
  const on = (workspace = "") => ({ role: "editor" as const, scope: { type: "workspace" as const, id: workspace } });
  const as = await newMember(account, on(workspaces[0]), on(workspaces[1]));
  const repeats = [assign, unassign].map(
    (move) => () => move(account, id, [one?.id], { as, headers: { "idempotency-key": "k" } }),
  );
  for (const repeat of repeats) {
    const [first, second] = [await repeat(), await repeat()];
    expect([first.status, second.status, second.headers["idempotency-replayed"]]).toEqual([200, 200, "true"]);
  }
  await loseRole(account, as, workspaces[0] ?? "");
  for (const repeat of repeats) expect((await repeat()).body.detail).toMatchObject([{ type: "not_found" }]);
});

test("a repeat is refused if the caller may not see a domain of the answer any more", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const workspaces = [await newWorkspace(account, "Sales"), await newWorkspace(account, "Support")];
  const [one, other] = await Promise.all(workspaces.map((workspaceId) => connected(account, { workspaceId })));
  await assign(account, id, [other?.id]);
  const on = (workspace = "") => ({ role: "editor" as const, scope: { type: "workspace" as const, id: workspace } });
  const as = await newMember(account, on(workspaces[0]), on(workspaces[1]));
  const repeat = () => assign(account, id, [one?.id], { as, headers: { "idempotency-key": "k" } });
  const first = await repeat();
  expect([first.body.domains.length, (await repeat()).body]).toEqual([2, first.body]);
  await loseRole(account, as, workspaces[1] ?? "");
  expect((await repeat()).body).toMatchObject({ code: "forbidden", required_capability: "domain.view" });
});

test("a deleted domain leaves its dedicated IP, even if the domain is unassigned at the same time", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const names = [(await quicklyActive(account)).name, (await connected(account)).name];
  await assign(account, id, names);
  // The first deletion keeps a verified domain for five days, and the second one deletes it.
  for (const _ of [1, 2]) expect((await domainsRequest(account, "DELETE", `/${names[0]}`)).status).toBe(200);
  expect((await send(account, "GET", `/${id}`)).body).toMatchObject({ domain_count: 1, domains: [{ name: names[1] }] });
  expect(await assignmentFaults(account)).toEqual([]);
  const [deleted, moved] = await Promise.all([
    domainsRequest(account, "DELETE", `/${names[1]}`),
    unassign(account, id, [names[1]]),
  ]);
  expect(deleted.status).toBe(200);
  expect([200, 422]).toContain(moved.status);
  expect(await assignmentFaults(account)).toEqual([]);
  expect((await send(account, "DELETE", `/${id}`)).status).toBe(200);
});

test("refuses invalid values, and `loc` names the place of each", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const cases: [domains: unknown, loc: (string | number)[]][] = [
    [[], ["body", "domains"]],
    ["example.com", ["body", "domains"]],
    [
      ["example.com", "not a name"],
      ["body", "domains", 1],
    ],
    [["co.uk"], ["body", "domains", 0]],
    [undefined, ["body", "domains"]],
  ];
  for (const [domains, loc] of cases) {
    const { status, body } = await assign(account, id, domains);
    expect([status, body.detail?.[0].loc], JSON.stringify(domains)).toEqual([422, loc]);
  }
});
