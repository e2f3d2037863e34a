import { expect, test } from "vitest";

import { storedOf } from "../../support/entry-points.ts";
import { withFault } from "../../support/faults.ts";
import { adding, agreedRule, mailed, ofRule, ruleNow, ruleTo, stranger } from "../../support/forwarding.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

/** An account with a domain that has the mailboxes ada and bob. */
async function scene() {
  const account = await newRoomyAccount();
  const { name, id: domainId, workspace_id } = await home(account);
  const [ada = "", bob = ""] = await stocked(account, name, ["ada", "bob"]);
  return { account, name, domainId, workspace_id, ada, bob };
}

test("a rule for a mailbox can name the mailbox by its id or address, and shows the id", async () => {
  const { account, name, ada } = await scene();
  for (const mailbox of [ada, `ADA@${name}`]) {
    const { body } = await adding(account, stranger(), { mailbox });
    expect(body).toMatchObject({ scope_type: "mailbox", scope_id: ada, address: null, keep_copy: true });
  }
});

test("a rule for addresses shows their domain and the pattern", async () => {
  const { account, name, domainId } = await scene();
  const { body } = await adding(account, stranger(), { domain: name, address: " Sales-* " });
  expect(body).toMatchObject({ scope_type: "address", scope_id: domainId, address: "sales-*", keep_copy: false });
});

test("refuses members that do not give exactly one scope, and stores nothing", async () => {
  const { account, name, workspace_id, ada } = await scene();
  const before = await storedOf(account);
  const cases: [scope: object, member: string][] = [
    [{ mailbox: ada, domain: name }, "mailbox"],
    [{ mailbox: ada, workspace_id }, "mailbox"],
    [{ domain: name, workspace_id }, "workspace_id"],
    [{ address: "sales" }, "address"],
    [{ address: "sales", workspace_id }, "address"],
    [{ address: "sales", mailbox: ada }, "address"],
    [{ address: "sales@example.com", domain: name }, "address"],
    [{ address: "a*b*", domain: name }, "address"],
    [{ address: "sales", domain: name, keep_copy: true }, "keep_copy"],
    [{ mailbox: "nobody" }, "mailbox"],
    [{ mailbox: `nobody@${name}` }, "mailbox"],
    [{ address: "sales", domain: "nowhere.com" }, "domain"],
  ];
  for (const [scope, member] of cases) {
    const { status, body } = await adding(account, stranger(), scope);
    expect([status, body.detail[0].loc], JSON.stringify(scope)).toEqual([422, ["body", member]]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("a mailbox's address or alias is refused for callers who see the mailbox, and a pattern is accepted", async () => {
  const { account, name, bob, domainId } = await scene();
  await send(account, "POST", at(bob, "/aliases"), { alias: "robert" });
  for (const address of ["bob", "robert"]) {
    const { body } = await adding(account, stranger(), { domain: name, address });
    expect(body, address).toMatchObject({ status: 409, code: "address_taken", conflicts_with: bob });
  }
  expect((await adding(account, stranger(), { domain: name, address: "b*" })).status).toBe(201);
  const manager = await newMember(account, {
    capability: "forwarding.manage",
    scope: { type: "domain", id: domainId },
  });
  expect((await adding(account, stranger(), { domain: name, address: "bob" }, manager)).status).toBe(201);
});

test("a rule for an address keeps no copy, and `keep_copy` cannot be set to true", async () => {
  const { account, name } = await scene();
  const { id } = await ruleTo(account, stranger(), { domain: name, address: "sales" });
  const { body } = await send(account, "PATCH", ofRule(id), { keep_copy: true });
  expect(body.detail).toMatchObject([{ loc: ["body", "keep_copy"] }]);
  expect((await send(account, "PATCH", ofRule(id), { keep_copy: false })).status).toBe(200);
});

test("a rule from a mailbox to itself is refused: by its address, by an alias, and by the catch-all", async () => {
  const { account, name, ada } = await scene();
  await send(account, "POST", at(ada, "/aliases"), { alias: "countess" });
  await send(account, "POST", at(ada, "/aliases"), { alias: "*" });
  for (const local of ["ada", "countess", "ada+x", "whoever"]) {
    const { body } = await adding(account, `${local}@${name}`, { mailbox: ada });
    expect(body.detail, local).toMatchObject([{ loc: ["body", "target_email"] }]);
  }
  const { body } = await send(account, "POST", "forwarding", {
    target_emails: [stranger(), `ada@${name}`],
    mailbox: ada,
  });
  expect(body.detail).toMatchObject([{ loc: ["body", "target_emails", 1] }]);
});

test("a rule that closes a loop of two mailboxes is refused, even by a second target or an update", async () => {
  const { account, name, ada, bob } = await scene();
  const first = await ruleTo(account, `bob@${name}`, { mailbox: ada });
  const loop = { code: "forwarding_loop", conflicts_with: [first.id] };
  expect((await adding(account, `ada@${name}`, { mailbox: bob })).body).toMatchObject(loop);
  const target_emails = [stranger(), `ada@${name}`];
  expect((await send(account, "POST", "forwarding", { target_emails, mailbox: bob })).body).toMatchObject(loop);
  const rule = await ruleTo(account, stranger(), { mailbox: bob });
  expect((await send(account, "PATCH", ofRule(rule.id), { target_emails })).body).toMatchObject(loop);
  expect((await ruleNow(account, rule.id))?.targets).toHaveLength(1);
});

test("the search for a loop looks up each scope once, however many copies arrive at a mailbox", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const layer = (letter: string): string[] => Array.from({ length: 4 }, (_, index) => `${letter}${index}`);
  const addresses = (letter: string): string[] => layer(letter).map((local) => `${local}@${name}`);
  await stocked(account, name, ["x", ...["a", "b", "c"].flatMap(layer)]);
  const rule = (mailbox: string, target_emails: string[]) =>
    send(account, "POST", "forwarding", { mailbox, target_emails });
  for (const from of addresses("b")) await rule(from, addresses("c"));
  for (const from of addresses("a")) await rule(from, addresses("b"));
  const { value, calls } = await withFault(undefined, -1, () => rule(`x@${name}`, addresses("a")));
  expect(value.status).toBe(201);
  // The scopes are the account, the workspace, the domain, and twelve mailboxes.
  expect(calls.filter((call) => call === "Query").length).toBeLessThan(20);
  const back = await rule(`c3@${name}`, [`x@${name}`]);
  expect(back.body).toMatchObject({ code: "forwarding_loop" });
  expect(back.body.conflicts_with).toHaveLength(3);
});

test("a loop over a mailbox and a domain is refused, and an address without a mailbox is part of no loop", async () => {
  const { account, name, ada } = await scene();
  const other = await home(account);
  await stocked(account, other.name, ["carol"]);
  await ruleTo(account, `carol@${other.name}`, { mailbox: ada });
  expect((await adding(account, `ada@${name}`, { domain: other.name })).body.code).toBe("forwarding_loop");
  expect((await adding(account, `ada@${name}`, { mailbox: `carol@${other.name}` })).body.code).toBe("forwarding_loop");
  expect((await adding(account, `ada@${name}`, { domain: other.name, address: "*" })).status).toBe(201);
  expect((await adding(account, `sales@${other.name}`, { mailbox: ada })).body.detail).toMatchObject([
    { loc: ["body", "target_email"], type: "not_found" },
  ]);
});

test("a caller with forwarding.manage on one mailbox can manage rules for this mailbox only", async () => {
  const { account, name, ada, bob } = await scene();
  const scope = { type: "mailbox" as const, id: ada };
  const manager = await newMember(
    account,
    { capability: "forwarding.manage", scope },
    { capability: "forwarding.view", scope },
  );
  const { status, body } = await adding(account, stranger(), { mailbox: ada }, manager);
  expect(status).toBe(201);
  const rest = await ruleTo(account, stranger(), { mailbox: bob });
  for (const [given, member] of [
    [{ mailbox: bob }, "mailbox"],
    [{ domain: name }, "domain"],
    [{ domain: name, address: "sales" }, "domain"],
  ] as const) {
    const answer = await adding(account, stranger(), given, manager);
    expect(answer.body.detail, member).toMatchObject([{ loc: ["body", member] }]);
  }
  const as = { as: manager };
  expect((await send(account, "PATCH", ofRule(body.id), { keep_copy: false }, as)).body.keep_copy).toBe(false);
  expect((await send(account, "GET", "forwarding", undefined, as)).body).toMatchObject({ total: 1 });
  expect((await send(account, "GET", ofRule(rest.id), undefined, as)).status).toBe(404);
  expect((await send(account, "DELETE", ofRule(body.id), undefined, as)).status).toBe(200);
});

test("grants on a domain or workspace cover the rules of its mailboxes and addresses", async () => {
  const { account, name, domainId, workspace_id, ada } = await scene();
  const other = await home(account);
  await ruleTo(account, stranger(), { mailbox: ada });
  await ruleTo(account, stranger(), { domain: name, address: "sales" });
  await ruleTo(account, stranger(), { domain: other.name, address: "sales" });
  for (const scope of [
    { type: "domain", id: domainId },
    { type: "workspace", id: workspace_id },
  ] as const) {
    const viewer = await newMember(account, { capability: "forwarding.view", scope });
    expect((await send(account, "GET", "forwarding", undefined, { as: viewer })).body.total, scope.type).toBe(2);
  }
});

test("filters by scope type, mailbox, address, `keep_copy`, domain, state, and any of the targets", async () => {
  const { account, name, domainId, ada } = await scene();
  const target = stranger();
  const made: Record<string, string> = {
    domain: (await ruleTo(account, stranger(), { domain: name })).id,
    mailbox: (await ruleTo(account, stranger(), { mailbox: ada, keep_copy: false })).id,
    address: (await agreedRule(account, stranger(), { domain: name, address: "sales-*" })).id,
  };
  await send(account, "PATCH", ofRule(made["domain"] ?? ""), { target_emails: [stranger(), target] });
  const cases: [query: Record<string, string>, names: string[]][] = [
    [{ scope_type: "mailbox" }, ["mailbox"]],
    [{ mailbox: ada }, ["mailbox"]],
    [{ mailbox: `Ada@${name}` }, ["mailbox"]],
    [{ mailbox: `nobody@${name}` }, []],
    [{ address: "Sales-*" }, ["address"]],
    [{ address: "sales-x" }, []],
    [{ keep_copy: "false" }, ["mailbox", "address"]],
    [{ keep_copy: "true" }, ["domain"]],
    [{ domain: domainId }, ["domain", "mailbox", "address"]],
    [{ domain: name, scope_type: "domain" }, ["domain"]],
    [{ target_email: target }, ["domain"]],
    [{ verification_state: "verified" }, ["address"]],
  ];
  for (const [query, names] of cases) {
    const { body } = await send(account, "GET", `forwarding?${new URLSearchParams(query).toString()}`);
    const ids = body.items.map(({ id }: { id: string }) => id);
    expect(ids, JSON.stringify(query)).toEqual(names.map((one) => made[one]));
  }
});

test("the letter names the mailbox or the addresses, but no addresses of an unproved domain", async () => {
  const { account, name, ada } = await scene();
  const ofMailbox = await ruleTo(account, stranger(), { mailbox: ada });
  const ofAddress = await ruleTo(account, stranger(), { domain: name, address: "sales-*" });
  expect((await mailed(account, ofMailbox)).mail.text).toContain(`comes to ada@${name} to you`);
  expect((await mailed(account, ofAddress)).mail.text).toContain(`comes to sales-*@${name} to you`);
  const said = await home(account, { status: "pending_delegation" });
  const unproved = await ruleTo(account, stranger(), { domain: said.name, address: "sales" });
  expect((await mailed(account, unproved)).mail.text).not.toContain(said.name);
});

const forwardRows = async (account: Account) => (await storedOf(account)).filter(({ SK }) => SK.startsWith("FORWARD"));

test("a deleted domain takes the rules of its mailboxes and addresses with it", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const [ada = ""] = await stocked(account, name, ["ada"]);
  await ruleTo(account, stranger(), { mailbox: ada });
  for (const address of ["sales", "info", "s*", "*"]) await ruleTo(account, stranger(), { domain: name, address });
  // Each of the five rules has a row for its target and a row for its proof.
  expect(await forwardRows(account)).toHaveLength(10);
  await send(account, "DELETE", at(ada));
  expect((await send(account, "DELETE", `domains/${name}?purge=true`)).status).toBe(200);
  expect((await send(account, "GET", "forwarding")).body.total).toBe(0);
  expect(await forwardRows(account)).toEqual([]);
});

test("all patterns of a domain together can have 20 rules, and a single address has a limit of its own", async () => {
  const { account, name } = await scene();
  for (let index = 0; index < 20; index++) {
    await ruleTo(account, `ada@${name}`, { domain: name, address: `p${index}-*` });
  }
  const add = (address: string) => adding(account, `bob@${name}`, { domain: name, address });
  expect((await add("q*")).body.code).toBe("limit_reached");
  expect((await add("q")).status).toBe(201);
});
