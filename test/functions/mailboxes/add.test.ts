import { expect, test } from "vitest";

import { changesOf, StoredChange } from "../../../shared/changes/record.ts";
import { addressKey, StoredAddress } from "../../../shared/mailboxes/mailbox.ts";
import { readEntries } from "../../../shared/table/journal.ts";
import { visibleTextError } from "../../../shared/text.ts";
import { setStored, storedAs } from "../../support/domain-work.ts";
import { delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/doors.ts";
import { added, at, home, listed, person, send, statusesOf, stocked } from "../../support/mailboxes.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const add = (account: Account, body: unknown, options = {}) => send(account, "POST", "mailboxes", body, options);

const detailOf = ({ body }: { body: { detail?: unknown } }) => body.detail;

test("creates a mailbox that is read at its Location at once, and nothing of its password is in the answer", async () => {
  const account = await newAccount();
  const { id: domain_id, name, workspace_id } = await home(account);
  const created = await add(account, { domain: name, ...person("ada.l") });
  expect(created.status).toBe(201);
  expect(created.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    domain_id,
    domain_name: name,
    workspace_id,
    workspace_name: `For ${name}`,
    local_part: "ada.l",
    primary_email: `ada.l@${name}`,
    first_name: "Ada",
    last_name: "Lovelace",
    quota: { allowed: 10 * 2 ** 30, used: 0 },
    aliases: [],
    status: "active",
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    updated_at: created.body.created_at,
  });
  const location = created.headers["location"] ?? "";
  expect(location).toBe(`/v1/public/accounts/${account.id}/mailboxes/${created.body.id}`);
  expect((await request("GET", location, { token: account.owner.token })).body).toEqual(created.body);
  expect((await domainsRequest(account, "GET", `/${name}`)).body.mailbox_count).toBe(1);
});

test("takes the domain by its id and in any spelling of its name, and folds and trims what is given", async () => {
  const account = await newAccount();
  const label = uniqueName("b", "example-x.com");
  const { id, name } = await home(account, { name: `bücher-${label}` });
  const spellings = [id.toUpperCase(), `${name.toUpperCase()}.`, `BÜCHER-${label}`, `bu\u0308cher-${label}`];
  for (const [index, domain] of spellings.entries()) {
    const { status, body } = await add(account, {
      domain,
      local_part: ` Ada-${index} `,
      first_name: " Ada ",
      last_name: "L",
    });
    expect([status, body.primary_email, body.first_name], domain).toEqual([201, `ada-${index}@${name}`, "Ada"]);
  }
});

const dots = "Two dots cannot stand side by side";
const ends = "It must begin and end with a letter or a digit";
const letters = "Only the letters a to z are given out in addresses";
const charset = "Only letters, digits, dots, hyphens and underscores are allowed";

const refusedLocals: [local: string, message: string][] = [
  ["", "The local part is empty"],
  ["  ", "The local part is empty"],
  ["a".repeat(65), "The local part is longer than 64 characters"],
  ["ada@example.com", "Write the part before the @ alone: the domain is said apart"],
  ["@", "Write the part before the @ alone: the domain is said apart"],
  ['"ada lovelace"', "Quoted local parts are not given out"],
  ["ada+lists", "A + is for sub-addresses: mail to name+anything comes to name"],
  ["büro", letters],
  ["аda", letters],
  ["ada\u0000", letters],
  ["a\nb", letters],
  ["ada\u200b", letters],
  ["\ud800", letters],
  ["a..b", dots],
  ["..", dots],
  [".ada", ends],
  ["ada.", ends],
  ["-ada", ends],
  ["ada-", ends],
  ["_ada", ends],
  ["_", ends],
  ["*", ends],
  ["ada lovelace", charset],
  ["ada/lovelace", charset],
  ["ada*", ends],
  ["a'b", charset],
  ["a%b", charset],
  ["a#b", charset],
];

test("refuses a local part with what is wrong with it at its place, and keeps nothing", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  const before = await storedOf(account);
  for (const [local_part, msg] of refusedLocals) {
    const answer = await add(account, { ...person("ada"), domain, local_part });
    expect([answer.status, detailOf(answer)], local_part).toEqual([
      422,
      [{ loc: ["body", "local_part"], msg, type: "value_error" }],
    ]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("takes letters, digits, and dots, hyphens and underscores between them, in lower case", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  const locals = ["a", "0", "a".repeat(64), "a.b-c_d.e", "a--b", "a_.-b"];
  const items = locals.map((local) => person(local.toUpperCase()));
  const { body } = await send(account, "POST", "mailboxes/bulk", { domain, items });
  expect(body.created.map(({ mailbox }: { mailbox: { local_part: string } }) => mailbox.local_part)).toEqual(locals);
});

const refusedNames: [value: unknown, message: string][] = [
  ["", "Too small: expected string to have >=1 characters"],
  ["   ", "Too small: expected string to have >=1 characters"],
  ["a".repeat(101), "Too big: expected string to have <=100 characters"],
  ["Ada\nLovelace", visibleTextError],
  ["A\rda", visibleTextError],
  ["Ada\u0000", visibleTextError],
  ["\u200b", visibleTextError],
  ["Ada\ud800", visibleTextError],
  [7, "Invalid input: expected string, received number"],
  [null, "Invalid input: expected string, received null"],
];

test("refuses a name with what is wrong with it at its place", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  for (const member of ["first_name", "last_name"]) {
    for (const [value, msg] of refusedNames) {
      const answer = await add(account, { domain, ...person("ada"), [member]: value });
      expect([answer.status, detailOf(answer)], JSON.stringify(value)).toEqual([
        422,
        [expect.objectContaining({ loc: ["body", member], msg })],
      ]);
    }
    const without: Record<string, unknown> = { domain, ...person("ada") };
    delete without[member];
    expect(detailOf(await add(account, without))).toMatchObject([{ loc: ["body", member], type: "missing" }]);
  }
  expect((await listed(account)).total).toBe(0);
});

test("takes names in every script, and marks beside letters", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  const names = { first_name: "Zoë 🦊", last_name: "O’Neill-王" };
  expect(await added(account, domain, "zoe", names)).toMatchObject(names);
});

test("refuses a password and other members it does not know", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  for (const member of ["password", "aliases", "quota", "status"]) {
    const answer = await add(account, { domain, ...person("ada"), [member]: "correct horse" });
    expect(detailOf(answer)).toMatchObject([{ loc: ["body", member], type: "extra_forbidden" }]);
  }
});

test.each([
  ["active", true],
  ["degraded", true],
  ["pending_delegation", true],
  ["pending_registration", false],
  ["failed", false],
  ["suspended", false],
  ["expired", false],
  ["releasing", false],
])("of a domain that is %s: %s", async (status, takes) => {
  const account = await newAccount();
  const { name } = await home(account, { status });
  if (["failed", "releasing"].includes(status)) await setStored(account, name, { is_open: false });
  const answer = await add(account, { domain: name, ...person("ada") });
  if (takes) expect(answer.status).toBe(201);
  else expect(answer.body).toMatchObject({ status: 409, code: "domain_not_ready", domain_status: status });
});

test("refuses a domain of another account as one that is not there", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { id, name } = await home(other);
  const answers = [id, name, uniqueName()].map((domain) => add(account, { domain, ...person("ada") }));
  const [first, ...rest] = (await Promise.all(answers)).map((answer) => [answer.status, detailOf(answer)]);
  expect(first).toEqual([422, [expect.objectContaining({ loc: ["body", "domain"], type: "not_found" })]]);
  expect(rest).toEqual([first, first]);
});

test("needs mailbox.create on the domain: of one that is not seen the answer is that of one that is not there", async () => {
  const account = await newAccount();
  const [own, hidden] = [await home(account), await home(account)];
  const scope = { type: "domain" as const, id: own.id };
  const member = await newMember(
    account,
    { capability: "mailbox.create", scope },
    { capability: "mailbox.view", scope },
  );
  const viewer = await newMember(account, { role: "viewer" });
  expect((await add(account, { domain: own.name, ...person("ada") }, { as: member })).status).toBe(201);
  expect((await add(account, { domain: hidden.name, ...person("ada") }, { as: member })).status).toBe(422);
  expect((await add(account, { domain: own.name, ...person("bob") }, { as: viewer })).body).toMatchObject({
    status: 403,
    required_capability: "mailbox.create",
  });
});

test("of many who want one address at the same time one has it, and every other is told whose it is", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  const answers = await Promise.all(Array.from({ length: 12 }, () => add(account, { domain, ...person("ada") })));
  expect(statusesOf(answers)).toEqual([201, ...Array(11).fill(409)]);
  const id = answers.find(({ status }) => status === 201)?.body.id;
  for (const { status, body } of answers) {
    if (status === 409) expect(body).toMatchObject({ code: "address_taken", conflicts_with: id });
  }
  expect(await listed(account)).toMatchObject({ items: [{ id }], total: 1 });
  expect((await storedAs(account, domain)).mailbox_count).toBe(1);
});

test("an address is a mailbox's or an alias's, whoever comes first", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  const [ada = ""] = await stocked(account, domain, ["ada"]);
  const names = Array.from({ length: 6 }, (_, index) => `sales${index}`);
  const outcomes = await Promise.all(
    names.map((alias) =>
      Promise.all([send(account, "POST", at(ada, "/aliases"), { alias }), add(account, { domain, ...person(alias) })]),
    ),
  );
  for (const [index, both] of outcomes.entries()) {
    expect(statusesOf(both)).toEqual([201, 409]);
    const owner = await testTable().get(
      addressKey(account.id, (await storedAs(account, domain)).id, names[index] ?? ""),
      StoredAddress,
    );
    expect(owner?.kind).toBe(both[0].status === 201 ? "alias" : "mailbox");
    const refused = both.find(({ status }) => status === 409);
    expect(refused?.body).toMatchObject({ code: "address_taken", conflicts_with: owner?.mailbox_id });
  }
  const { items, total } = await listed(account);
  expect(total).toBe(1 + outcomes.filter(([, mailbox]) => mailbox.status === 201).length);
  expect(items[0]?.aliases).toHaveLength(outcomes.filter(([alias]) => alias.status === 201).length);
});

test("names the mailbox in the way only to who may see it", async () => {
  const account = await newAccount();
  const { id, name: domain } = await home(account);
  await stocked(account, domain, ["ada"]);
  const member = await newMember(account, { capability: "mailbox.create", scope: { type: "domain", id } });
  const { body } = await add(account, { domain, ...person("ada") }, { as: member });
  expect(body).toMatchObject({ code: "address_taken", detail: `ada@${domain} is an address of a mailbox already.` });
  expect(body.conflicts_with).toBeUndefined();
});

test("the same local part is free in every other domain", async () => {
  const account = await newAccount();
  const [first, second] = [await home(account), await home(account)];
  await added(account, first.name);
  expect((await added(account, second.name)).primary_email).toBe(`ada@${second.name}`);
});

test("once a domain has changed hands the new account has all its addresses, and the old one none", async () => {
  const [old, newcomer] = [await newAccount(), await newAccount()];
  const { name } = await home(old, { status: "pending_delegation" });
  const [ada = ""] = await stocked(old, name, ["ada", "bob"]);
  await send(old, "POST", at(ada, "/aliases"), { alias: "sales" });
  await send(old, "POST", at(ada, "/aliases"), { alias: "*" });
  await delegated(newcomer, name);
  const { body: workspace } = await send(newcomer, "POST", "workspaces", { name: "Sales" });
  expect((await domainsRequest(newcomer, "POST", "", { name, workspace_id: workspace.id })).status).toBe(201);

  for (const local of ["ada", "bob", "sales"]) expect((await added(newcomer, name, local)).domain_name).toBe(name);
  expect((await send(newcomer, "POST", at(`ada@${name}`, "/aliases"), { alias: "*" })).status).toBe(201);
  expect((await add(old, { domain: name, ...person("carl") })).status).toBe(409);
  expect((await send(newcomer, "GET", at(ada))).status).toBe(404);
});

test("says what was created in one event, with neither password nor hash", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const mailbox = await added(account, name);
  const { rows } = await readEntries(testTable(), changesOf(account.id), { skip: 0, take: 1 }, new Date());
  const { workspace_id: _id, workspace_name: _name, ...core } = mailbox;
  expect(StoredChange.parse(rows[0])).toMatchObject({
    type: "mailbox.created",
    action: "mailboxes.add",
    actor_id: account.owner.id,
    resource_id: mailbox.id,
    after: core,
  });
});
