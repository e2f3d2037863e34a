import { expect, test } from "vitest";

import { setStored } from "../../support/domain-work.ts";
import { domainsRequest, uniqueName } from "../../support/domains.ts";
import { added, addMailbox, home, person, send } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("creates a mailbox that can be read at its `Location` at once, and returns no password", async () => {
  const account = await newAccount();
  const { id: domain_id, name, workspace_id } = await home(account);
  const created = await addMailbox(account, { domain: name, ...person("ada.l") });
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
    last_login_at: null,
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

test("accepts the domain's id and any spelling of its name, trims the texts, and puts the local part in lower case", async () => {
  const account = await newAccount();
  const label = uniqueName("b", "example-x.com");
  const { id, name } = await home(account, { name: `bücher-${label}` });
  const spellings = [id.toUpperCase(), `${name.toUpperCase()}.`, `BÜCHER-${label}`, `bu\u0308cher-${label}`];
  for (const [index, domain] of spellings.entries()) {
    const { status, body } = await addMailbox(account, {
      domain,
      local_part: ` Ada-${index} `,
      first_name: " Ada ",
      last_name: "L",
    });
    expect([status, body.primary_email, body.first_name], domain).toEqual([201, `ada-${index}@${name}`, "Ada"]);
  }
});

test("accepts letters, digits, and dots, hyphens and underscores between them, and puts them in lower case", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  const locals = ["a", "0", "a".repeat(64), "a.b-c_d.e", "a--b", "a_.-b"];
  const items = locals.map((local) => person(local.toUpperCase()));
  const { body } = await send(account, "POST", "mailboxes/bulk", { domain, items });
  expect(body.created.map(({ mailbox }: { mailbox: { local_part: string } }) => mailbox.local_part)).toEqual(locals);
});

test("accepts names with letters of other scripts, emoji and punctuation", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  const names = { first_name: "Zoë 🦊", last_name: "O’Neill-王" };
  expect(await added(account, domain, "zoe", names)).toMatchObject(names);
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
])("whether a domain that is %s accepts a mailbox: %s", async (status, takes) => {
  const account = await newAccount();
  const { name } = await home(account, { status });
  if (["failed", "releasing"].includes(status)) await setStored(account, name, { is_open: false });
  const answer = await addMailbox(account, { domain: name, ...person("ada") });
  if (takes) expect(answer.status).toBe(201);
  else expect(answer.body).toMatchObject({ status: 409, code: "domain_not_ready", domain_status: status });
});

test("refuses a domain of another account like a missing one", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { id, name } = await home(other);
  const answers = [id, name, uniqueName()].map((domain) => addMailbox(account, { domain, ...person("ada") }));
  const [first, ...rest] = (await Promise.all(answers)).map((answer) => [answer.status, answer.body.detail]);
  expect(first).toEqual([422, [expect.objectContaining({ loc: ["body", "domain"], type: "not_found" })]]);
  expect(rest).toEqual([first, first]);
});

test("needs mailbox.create on the domain, and gives 422 for a domain that the caller cannot see", async () => {
  const account = await newAccount();
  const [own, hidden] = [await home(account), await home(account)];
  const scope = { type: "domain" as const, id: own.id };
  const member = await newMember(
    account,
    { capability: "mailbox.create", scope },
    { capability: "mailbox.view", scope },
  );
  const viewer = await newMember(account, { role: "viewer" });
  expect((await addMailbox(account, { domain: own.name, ...person("ada") }, { as: member })).status).toBe(201);
  expect((await addMailbox(account, { domain: hidden.name, ...person("ada") }, { as: member })).status).toBe(422);
  expect((await addMailbox(account, { domain: own.name, ...person("bob") }, { as: viewer })).body).toMatchObject({
    status: 403,
    required_capability: "mailbox.create",
  });
});

test("records the new mailbox in an event", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const mailbox = await added(account, name);
  const [change] = await recorded(account);
  const { workspace_id: _id, workspace_name: _name, ...core } = mailbox;
  expect(change).toMatchObject({
    type: "mailbox.created",
    action: "mailboxes.add",
    actor_id: account.owner.id,
    resource_id: mailbox.id,
    after: core,
  });
});
