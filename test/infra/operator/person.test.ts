import { randomBytes } from "node:crypto";

import { expect, test } from "vitest";

import { personCommands } from "../../../infra/operator/person-commands.ts";
import { added, home } from "../../support/mailboxes.ts";
import { request } from "../../support/request.ts";
import { grant, newAccount, newMember, newUser, testTable } from "../../support/world.ts";
import { operator } from "./command-line.ts";

type Result = Record<string, unknown> & { found: { what: string; data: Record<string, unknown> }[] };

const run = async (command: "export" | "erase", options: Record<string, string>): Promise<Result> =>
  (await personCommands[`person ${command}`]?.run(testTable(), options, { open: () => testTable() })) as Result;

/** A person who wrote feedback in an account, was invited to it, and whose access has ended. Another person stays. */
async function scene() {
  const account = await newAccount();
  const email = `mary.${randomBytes(5).toString("hex")}@example.com`;
  const person = newUser({ email, given_name: "Mary", family_name: "Shelley" });
  const send = (method: string, path: string, token: string, body?: unknown) =>
    request(method, `/v1/public/accounts/${account.id}/${path}`, { token, body, headers: { "user-agent": "Marys" } });
  const { token } = account.owner;
  const invited = await send("POST", "auth/invitations", token, {
    email,
    roles: [{ role_key: "viewer" }],
    message: "Dear Mary",
  });
  await send("DELETE", `auth/invitations/${invited.body.id}`, token);
  const granted = await send("POST", "auth/authorizations", token, {
    grant_kind: "capability",
    subject_type: "user",
    subject_id: person.id,
    capability_key: "account.view",
  });
  const feedback = await send("POST", "feedback", person.token, {
    category: "other",
    title: "Hello",
    description: `Write to\n${email}`,
  });
  for (const { status, text } of [invited, granted, feedback]) if (status !== 201) throw new Error(text);
  const end = () => send("DELETE", `auth/authorizations/${granted.body.id}`, token);
  return { account, person, email, end, send };
}

const itemsOf = (accountId: string) => testTable().between(`ACCOUNT#${accountId}`, " ", "~");

const textOf = async (accountId: string): Promise<string> => JSON.stringify(await itemsOf(accountId));

test("an export has the access, the invitations, the feedback and the audit entries of a person, and no secret", async () => {
  const { account, person, email } = await scene();
  const exported = await run("export", { user: person.id, account: account.id });
  expect(exported["emails"]).toEqual([email]);
  const kinds = new Set(exported.found.map(({ what }) => what));
  expect([...kinds]).toEqual(
    expect.arrayContaining(["access to the account", "invitation", "feedback", "audit entry"]),
  );
  const feedback = exported.found.find(({ what }) => what === "feedback");
  expect(feedback?.data).toMatchObject({ title: "Hello", submitter_email: email, submitter_name: "Mary Shelley" });
  const profile = exported.found.find(({ data }) => data["first_name"] !== undefined);
  expect(profile?.data).toMatchObject({ email, first_name: "Mary", last_name: "Shelley" });
  expect(JSON.stringify(exported)).not.toMatch(/token_hash|password_hash|sealed/);
});

test("an export of a user has no keys, versions and other bookkeeping of the table", async () => {
  const { account, person, send } = await scene();
  const { token } = account.owner;
  const group = await send("POST", "auth/groups", token, { name: "Poets" });
  const member = { subject_id: person.id, subject_type: "user" };
  expect(await send("POST", `auth/groups/${group.body.id}/members`, token, member)).toMatchObject({ status: 201 });
  await operator("super-admin", "add", "--user", person.id);
  const exported = await run("export", { user: person.id });
  expect(exported["user"]).toEqual([
    { what: "user", data: { account_id: account.id } },
    { what: "user", data: { super_admin_grants: ["operator"], super_admin_ends: {}, access_ends: {} } },
  ]);
  expect(JSON.stringify(exported)).not.toMatch(/"(?:PK|SK|version|ttl|listed_at|ordinal|profile_at|place_\w+|holes)":/);
});

test("an address that the issuer has not verified leads to no other person, and is not in the audit log", async () => {
  const { account, email, send } = await scene();
  const stranger = newUser({ email, email_verified: false } as never);
  await grant(account, { id: stranger.id }, { role: "manager" });
  const sent = await send("POST", "feedback", stranger.token, {
    category: "other",
    title: "I",
    description: "am Mary",
  });
  const tagged = await send("POST", "tags", stranger.token, { name: "mine" });
  expect([sent.status, tagged.status], tagged.text).toEqual([201, 201]);
  const { items } = (await send("GET", "audit-log", account.owner.token)).body;
  const own = items.filter(({ actor }: { actor: { id: string } }) => actor.id === stranger.id);
  expect(own).toMatchObject([{ actor: { email: null } }, { actor: { email: null } }]);
  const exported = await run("export", { user: stranger.id, account: account.id });
  expect(exported["emails"]).toEqual([]);
  expect(JSON.stringify(exported.found)).not.toContain("Shelley");
  await run("erase", { user: stranger.id, account: account.id, confirm: stranger.id });
  const lists = await send("GET", "feedback", account.owner.token);
  expect(lists.body.items.map((one: { submitter_email: string }) => one.submitter_email).toSorted()).toEqual(
    ["erased@erased.invalid", email].toSorted(),
  );
});

test("of other people's rows, an export has only the parts that name the person", async () => {
  const { account, person, email, send } = await scene();
  const writer = newUser({ given_name: "Percy", family_name: "Other" });
  await send("POST", "auth/authorizations", account.owner.token, {
    grant_kind: "capability",
    subject_type: "user",
    subject_id: writer.id,
    capability_key: "account.view",
  });
  const sent = await send("POST", "feedback", writer.token, {
    category: "other",
    title: "About a colleague",
    description: `Ask ${email}`,
    attributes: { to: [email, "me"] },
  });
  expect(sent.status).toBe(201);
  const { found } = await run("export", { user: person.id, account: account.id });
  expect(found).toContainEqual({
    account_id: account.id,
    what: "feedback",
    data: { description: `Ask ${email}`, attributes: JSON.stringify({ to: [email] }) },
  });
  const text = JSON.stringify(found);
  for (const trace of ["About a colleague", "Percy", writer.id, writer.email, account.owner.email])
    expect(text).not.toContain(trace);
  const entries = found.filter(({ what }) => what === "audit entry").map(({ data }) => data);
  expect(entries.filter(({ actor_id: id }) => id === undefined).length).toBeGreaterThan(1);
  for (const entry of entries) {
    if (entry["actor_id"] === person.id) expect(entry).toMatchObject({ actor_email: email, user_agent: "Marys" });
    else for (const name of ["actor_email", "source_ip", "user_agent"]) expect(entry).not.toHaveProperty(name);
  }
});

test("an address alone finds the rows of a person who is no user, and no rows of a longer address with the same end", async () => {
  const { account, email } = await scene();
  const found = await run("export", { email: email.toUpperCase(), account: account.id });
  expect(found.found.map(({ what }) => what)).toContain("invitation");
  expect((await run("export", { email: email.slice(1), account: account.id })).found).toEqual([]);
  expect((await run("export", { email: email.slice(0, -1), account: account.id })).found).toEqual([]);
});

test("with an account, an export and an erasure name nothing of another account", async () => {
  const { account, person } = await scene();
  const other = await newAccount();
  const { name } = await home(other);
  const { primary_email: email } = await added(other, name, "mary");
  await grant(other, { id: person.id }, { role: "viewer" });
  const options = { user: person.id, email, account: account.id };
  for (const command of ["export", "erase"] as const)
    expect(JSON.stringify(await run(command, options)), command).not.toContain(other.id);
  const { found } = await run("export", { ...options, account: other.id });
  expect(found).toContainEqual({
    account_id: other.id,
    what: "mailbox",
    data: expect.objectContaining({ email }),
  });
});

test("an address or alias of a deleted mailbox finds this mailbox, but not with the name of another domain", async () => {
  const account = await newAccount();
  const [domain, other] = [await home(account), await home(account)];
  const mailbox = await added(account, domain.id, "ada");
  const path = `/v1/public/accounts/${account.id}/mailboxes/${mailbox.id}`;
  const { token } = account.owner;
  expect((await request("POST", `${path}/aliases`, { token, body: { alias: "mary" } })).status).toBe(201);
  expect((await request("DELETE", path, { token })).status).toBe(200);
  const foundFor = async (email: string) => {
    const { found } = await run("export", { email, account: account.id });
    return found.filter(({ what }) => what === "mailbox");
  };
  for (const local of ["ada", "mary"]) {
    const email = `${local}@${domain.name}`;
    const data = { id: mailbox.id, email, first_name: "Ada", last_name: "Lovelace" };
    expect(await foundFor(email)).toEqual([{ account_id: account.id, what: "mailbox", data }]);
    expect(JSON.stringify(await run("erase", { email, account: account.id }))).toContain("mailbox in account");
    expect(await foundFor(`${local}@${other.name}`)).toEqual([]);
  }
});

test("an address with an internationalised domain finds the rows with the domain in A-labels and in U-labels", async () => {
  const { account, send } = await scene();
  const local = `mary.${randomBytes(5).toString("hex")}`;
  const [unicode, ascii] = [`${local}@Bücher.example`, `${local}@xn--bcher-kva.example`];
  const roles = [{ role_key: "viewer" }];
  expect(await send("POST", "auth/invitations", account.owner.token, { email: unicode, roles })).toMatchObject({
    status: 201,
    body: { email: ascii },
  });
  const person = newUser({ email: unicode });
  await grant(account, person, { capability: "account.view" });
  for (const email of [unicode, ascii]) {
    const { out } = await operator("person", "export", "--email", email, "--account", account.id, "--json");
    const whats = JSON.parse(out).found.map(({ what }: { what: string }) => what);
    expect(whats).toEqual(expect.arrayContaining(["invitation", "access to the account"]));
  }
});

test("an erasure first lists the rows, then erases all but the kept rows, and a second erasure has nothing to do", async () => {
  const { account, person, email, end, send } = await scene();
  await end();
  const options = { user: person.id, account: account.id };
  const [before, rows] = [await textOf(account.id), await itemsOf(account.id)];
  expect(await run("erase", options)).toMatchObject({ dry_run: true, would_erase: expect.any(Array) });
  expect(await itemsOf(account.id)).toEqual(rows);
  await expect(run("erase", { ...options, confirm: "yes" })).rejects.toThrow("--confirm must have the same value");

  const erased = await run("erase", { ...options, confirm: person.id });
  expect(erased["dry_run"]).toBe(false);
  expect(JSON.stringify(erased["erased"])).toContain("feedback in account");
  const after = await textOf(account.id);
  for (const trace of [email, "Shelley", "Dear Mary"]) {
    expect(before).toContain(trace);
    expect(after).not.toContain(trace);
  }
  expect(await run("erase", { ...options, email, confirm: person.id })).toMatchObject({ erased: [] });

  const { token } = account.owner;
  const lists = await Promise.all(
    ["feedback", "auth/invitations", "audit-log"].map((path) => send("GET", path, token)),
  );
  expect(lists.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(lists[0]?.body.items[0]).toMatchObject({ submitter_email: "erased@erased.invalid", submitter_name: null });
  const own = lists[2]?.body.items.filter(({ actor }: { actor: { id: string } }) => actor.id === person.id);
  expect(own.length).toBeGreaterThan(0);
  for (const entry of own) expect(entry).toMatchObject({ actor: { email: null }, source_ip: null, user_agent: null });
  const others = lists[2]?.body.items.filter(({ actor }: { actor: { id: string } }) => actor.id === account.owner.id);
  expect(others[0].user_agent).toBe("Marys");
});

test("access, a pending invitation and the account's own data are kept, each with the reason", async () => {
  const { account, person, email, send } = await scene();
  const domain = await home(account);
  const mailbox = await added(account, domain.id);
  const invited = `new.${email}`;
  await send("POST", "auth/invitations", account.owner.token, { email: invited, roles: [{ role_key: "viewer" }] });
  const result = await run("erase", { user: person.id, account: account.id, confirm: person.id });
  expect(JSON.stringify(result["kept"])).toContain("The user has access to the account. End the access");
  const pending = await run("erase", { email: invited, account: account.id, confirm: invited });
  expect(JSON.stringify(pending["kept"])).toContain("The invitation can still be accepted. Revoke it");
  const theirs = await run("export", { email: mailbox.primary_email, account: account.id });
  const own = theirs.found.find(({ what }) => what === "mailbox");
  expect(own?.data).toMatchObject({ id: mailbox.id, first_name: "Ada" });
  const mine = await run("erase", { email: mailbox.primary_email, account: account.id });
  expect(JSON.stringify(mine["kept"])).toContain("Forward the person's request to the owners");
  const list = await send("GET", "auth/members", account.owner.token);
  expect(list.body.items.map(({ subject_id: id }: { subject_id: string }) => id)).toContain(person.id);
});

test("an erasure removes the person from the recorded states of a mailbox and of a billing profile", async () => {
  const account = await newAccount();
  const { token } = account.owner;
  const domain = await home(account);
  const [theirs, others] = [await added(account, domain.id), await added(account, domain.id, "bob")];
  for (const { id } of [theirs, others])
    await request("DELETE", `/v1/public/accounts/${account.id}/mailboxes/${id}`, { token });
  const email = theirs.primary_email;
  const profile = { name: "Ada Lovelace", address_lines: ["1 St James's Square"], postcode: "SW1Y", city: "London" };
  const put = await request("PATCH", `/v1/public/accounts/${account.id}/billing/profile`, {
    token,
    body: { ...profile, country: "GB", vat_id: null, email },
  });
  expect(put.status).toBe(200);
  await run("erase", { email, account: account.id, confirm: email });
  const log = await request("GET", `/v1/public/accounts/${account.id}/audit-log`, { token });
  type Entry = { event_type: string; resource: { id: string }; before: object | null; after: object | null };
  const viewsOf = (isWanted: (entry: Entry) => boolean) =>
    log.body.items.filter(isWanted).flatMap(({ before, after }: Entry) => [before, after].filter((view) => view));
  const erased = { local_part: "erased", first_name: "erased", last_name: "erased", aliases: [] };
  const ofMailbox = viewsOf(({ resource }) => resource.id === theirs.id);
  expect(ofMailbox).toHaveLength(2);
  for (const view of ofMailbox) expect(view).toMatchObject({ ...erased, primary_email: "erased@erased.invalid" });
  for (const view of viewsOf(({ resource }) => resource.id === others.id))
    expect(view).toMatchObject({ first_name: "Ada", primary_email: others.primary_email });
  expect(viewsOf(({ event_type }) => event_type === "billing.profile.updated").at(-1)).toMatchObject({
    name: null,
    address_lines: [],
    postcode: null,
    city: null,
    country: "GB",
    email: "erased@erased.invalid",
  });
});

test("an erasure that stops after each write continues when it is run again, also in accounts without rows of the user's own", async () => {
  const { account, person, email, end } = await scene();
  await end();
  const other = await newAccount();
  const path = `/v1/public/accounts/${other.id}/feedback`;
  const body = { category: "other", title: "Hello", description: `Write to ${email}` };
  const { status, text } = await request("POST", path, { token: other.owner.token, body });
  if (status !== 201) throw new Error(text);
  const table = testTable();
  let left = 1;
  const stopping = {
    ...table,
    attempt: async (write: Parameters<typeof table.attempt>[0]) => {
      if (left-- === 0) throw new Error("stopped");
      return table.attempt(write);
    },
  };
  const erase = () =>
    personCommands["person erase"]?.run(stopping, { user: person.id, confirm: person.id }, { open: () => testTable() });
  let stops = 0;
  for (; stops < 100; stops += 1) {
    left = 1;
    const error = await erase()?.then(
      () => undefined,
      (thrown: Error) => thrown.message,
    );
    if (error === undefined) break;
    expect(error).toBe("stopped");
  }
  expect(stops).toBeGreaterThan(3);
  expect(await textOf(account.id)).not.toContain("Shelley");
  for (const { id } of [account, other]) expect(await textOf(id)).not.toContain(email);
});

test("a row that was read before an erasure cannot be written back after it", async () => {
  const { account, person, end } = await scene();
  await end();
  const feedback = (await itemsOf(account.id)).find(({ submitter_name: name }) => name === "Mary Shelley");
  await run("erase", { user: person.id, account: account.id, confirm: person.id });
  const version = Number(feedback?.["version"]);
  expect(version).toBeGreaterThan(0);
  expect(await testTable().attempt({ put: feedback!, if: { version } })).toMatchObject({ done: false });
});

test("an export without a person is an error, and an erasure of a stranger changes no row of other people", async () => {
  const account = await newAccount();
  const other = await newMember(account, { capability: "account.view" });
  const before = await itemsOf(account.id);
  expect(await operator("person", "export", "--account", account.id, "--table", "test")).toMatchObject({ code: 1 });
  const stranger = newUser();
  await run("erase", { user: stranger.id, account: account.id, confirm: stranger.id });
  expect(await itemsOf(account.id)).toEqual(before);
  expect(JSON.stringify(before)).toContain(other.id);
});
