import { expect, test } from "vitest";

import { setStored } from "../../../support/domain-work.ts";
import { uniqueName } from "../../../support/domains.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { aliasesOf, at, home, send, stocked } from "../../../support/mailboxes.ts";
import { recorded } from "../../../support/recorded.ts";
import { statusesOf } from "../../../support/request.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { newMember, type Account } from "../../../support/world.ts";

/** An account with a domain and mailboxes in it. */
async function scene(locals = ["ada"], name = uniqueName()) {
  const account = await newRoomyAccount();
  const domain = await home(account, { name });
  const ids = await stocked(account, domain.name, locals);
  return { account, domain, name: domain.name, id: ids[0] ?? "", ids };
}

const create = (account: Account, mailbox: string, body: unknown, options = {}) =>
  send(account, "POST", at(mailbox, "/aliases"), body, options);

test("returns the whole address, if the caller gives the local part or any spelling of the address", async () => {
  const unicode = `bücher-${uniqueName("b", "example-x.com")}`;
  const { account, id, name } = await scene(["ada"], unicode);
  const given: [alias: string, local: string][] = [
    ["sales", "sales"],
    [" Info ", "info"],
    [`HELP@${name.toUpperCase()}.`, "help"],
    [`desk@${unicode}`, "desk"],
  ];
  for (const [alias, local] of given) {
    const { status, body } = await create(account, id, { alias });
    expect([status, body], alias).toEqual([201, { alias: `${local}@${name}`, is_catch_all: false }]);
  }
  expect(await aliasesOf(account, id)).toEqual(given.map(([, local]) => `${local}@${name}`));
});

test("the path can have the mailbox's address, and a new alias changes the mailbox and its entity tag", async () => {
  const { account, id, name } = await scene();
  const before = (await send(account, "GET", at(id))).headers["etag"];
  expect((await create(account, `ADA@${name}`, { alias: "sales" })).status).toBe(201);
  const { body, headers } = await send(account, "GET", at(id));
  expect(body.aliases).toEqual([{ alias: `sales@${name}`, is_catch_all: false }]);
  expect(headers["etag"]).not.toBe(before);
  const [change] = await recorded(account);
  expect(change).toMatchObject({
    type: "mailbox.updated",
    before: { aliases: [] },
    after: { aliases: [{ alias: `sales@${name}` }] },
  });
});

test("the catch-all is written `*` or `*@domain`, and a domain can have only one", async () => {
  const first = await scene(["ada", "bob"]);
  const second = await scene();
  const { account, ids, name } = first;
  const created = await create(account, ids[0] ?? "", { alias: "*" });
  expect([created.status, created.body]).toEqual([201, { alias: `*@${name}`, is_catch_all: true }]);
  for (const mailbox of ids) {
    expect((await create(account, mailbox, { alias: `*@${name}` })).body).toMatchObject({
      status: 409,
      code: "address_taken",
      detail: `The domain ${name} has a catch-all already. Delete that alias first.`,
      conflicts_with: ids[0],
    });
  }
  const whole = await create(second.account, second.id, {
    alias: `*@${second.name.toUpperCase()}`,
    is_catch_all: true,
  });
  expect([whole.status, whole.body.alias]).toEqual([201, `*@${second.name}`]);
});

test("if three mailboxes ask for the catch-all at the same time, one gets it", async () => {
  const { account, ids, name } = await scene(["ada", "bob", "carl"]);
  const answers = await Promise.all(ids.map((id) => create(account, id, { alias: "*" })));
  expect(statusesOf(answers)).toEqual([201, 409, 409]);
  const all = (await Promise.all(ids.map((id) => aliasesOf(account, id)))).flat();
  expect(all).toEqual([`*@${name}`]);
});

const own = (name: string) => `An alias must be in the mailbox's own domain, ${name}`;

const notAnAddress = "Write an address such as sales@example.com, or only its local part";

test("refuses invalid values with the reason at their place, and changes nothing", async () => {
  const { account, id, name } = await scene();
  const before = await storedOf(account);
  const cases: [body: object, member: string, message: string][] = [
    [{ alias: "sales@example.com" }, "alias", own(name)],
    [{ alias: "*@example.com" }, "alias", own(name)],
    [{ alias: `sales@www.${name}` }, "alias", own(name)],
    [{ alias: "" }, "alias", "The local part is empty"],
    [{ alias: " " }, "alias", "The local part is empty"],
    [{ alias: "a b" }, "alias", "Only letters, digits, dots, hyphens and underscores are allowed"],
    [{ alias: `a b@${name}` }, "alias", "Only letters, digits, dots, hyphens and underscores are allowed"],
    [{ alias: "sales+x" }, "alias", "A local part cannot contain a +. Mail to name+anything is delivered to name"],
    [
      { alias: `sales+x@${name}` },
      "alias",
      "A local part cannot contain a +. Mail to name+anything is delivered to name",
    ],
    [{ alias: "büro" }, "alias", "A local part can have no letters other than a to z"],
    [{ alias: `\ud800@${name}` }, "alias", notAnAddress],
    [{ alias: "@" }, "alias", notAnAddress],
    [{ alias: `@${name}` }, "alias", notAnAddress],
    [{ alias: "sales@" }, "alias", notAnAddress],
    [{ alias: "sales@localhost" }, "alias", notAnAddress],
    [{ alias: "a".repeat(65) }, "alias", "The local part is longer than 64 characters"],
    [{ alias: "**" }, "alias", "A local part must begin and end with a letter or a digit"],
    [{ alias: "sales", is_catch_all: true }, "is_catch_all", "Only the alias * can be a catch-all"],
    [{ alias: "*", is_catch_all: false }, "is_catch_all", "The alias * is always a catch-all"],
    [{ alias: "*@" }, "alias", notAnAddress],
  ];
  for (const [body, member, msg] of cases) {
    const answer = await create(account, id, body);
    expect([answer.status, answer.body.detail], JSON.stringify(body)).toEqual([
      422,
      [expect.objectContaining({ loc: ["body", member], msg })],
    ]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("refuses an address that a mailbox or an alias already has, also the mailbox's own", async () => {
  const { account, ids } = await scene(["ada", "bob"]);
  const [ada = "", bob = ""] = ids;
  await create(account, ada, { alias: "sales", is_catch_all: false });
  const taken: [mailbox: string, alias: string, by: string][] = [
    [ada, "ada", ada],
    [ada, "Bob", bob],
    [ada, "sales", ada],
    [bob, "sales", ada],
  ];
  for (const [mailbox, alias, conflicts_with] of taken) {
    expect((await create(account, mailbox, { alias })).body).toMatchObject({ code: "address_taken", conflicts_with });
  }
});

test("a mailbox can have thirty aliases and no more, also if some of them are added at the same time", async () => {
  const { account, id } = await scene();
  const some = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => create(account, id, { alias: `a${from + index}` }));
  expect(statusesOf(await Promise.all(some(0, 6)))).toEqual(Array(6).fill(201));
  for (let from = 6; from < 26; from++) await create(account, id, { alias: `a${from}` });
  expect(statusesOf(await Promise.all(some(26, 32)))).toEqual([...Array(4).fill(201), 409, 409]);
  expect((await create(account, id, { alias: "another" })).body).toMatchObject({ code: "limit_reached" });
  const aliases = await aliasesOf(account, id);
  expect([aliases.length, new Set(aliases).size]).toEqual([30, 30]);
});

test("refuses an alias while the domain is releasing", async () => {
  const { account, id, name } = await scene();
  await setStored(account, name, { status: "releasing", is_open: false });
  const { body } = await create(account, id, { alias: "sales" });
  expect(body).toMatchObject({ code: "domain_not_ready", domain_status: "releasing" });
});

test("needs mailbox.update on the domain, its workspace or the account: an editor of only the mailbox is refused", async () => {
  const { account, domain, id, ids } = await scene(["ada", "bob"]);
  const narrowed = (type: "mailbox" | "domain" | "workspace", to: string) =>
    newMember(account, { role: "editor", scope: { type, id: to } });
  const ofMailbox = await narrowed("mailbox", id);
  const viewer = await newMember(account, { role: "viewer" });
  const forbidden = { status: 403, code: "forbidden", required_capability: "mailbox.update" };
  expect((await create(account, ids[1] ?? "", { alias: "info" }, { as: ofMailbox })).status).toBe(404);
  const before = await storedOf(account);
  for (const alias of ["*", "postmaster", "sales"]) {
    expect((await create(account, id, { alias }, { as: ofMailbox })).body, alias).toMatchObject(forbidden);
  }
  expect((await create(account, id, { alias: "info" }, { as: viewer })).body).toMatchObject(forbidden);
  expect(await storedOf(account)).toEqual(before);
  const able = [
    await narrowed("domain", domain.id),
    await narrowed("workspace", domain.workspace_id),
    await newMember(account, { capability: "mailbox.update" }),
  ];
  for (const [index, as] of able.entries()) {
    expect((await create(account, id, { alias: `sales${index}` }, { as })).status).toBe(201);
  }
});
