import { expect, test } from "vitest";

import { addressKey, StoredAddress } from "../../../shared/mail/mailboxes/mailbox.ts";
import { storedAs } from "../../support/domain-work.ts";
import { delegated, domainsRequest } from "../../support/domains.ts";
import { added, addMailbox, at, home, listed, person, send, stocked } from "../../support/mailboxes.ts";
import { statusesOf } from "../../support/request.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

test("of many requests for an address at the same time one succeeds, and the others get the id of its mailbox", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => addMailbox(account, { domain, ...person("ada") })),
  );
  expect(statusesOf(answers)).toEqual([201, ...Array(11).fill(409)]);
  const id = answers.find(({ status }) => status === 201)?.body.id;
  for (const { status, body } of answers) {
    if (status === 409) expect(body).toMatchObject({ code: "address_taken", conflicts_with: id });
  }
  expect(await listed(account)).toMatchObject({ items: [{ id }], total: 1 });
  expect((await storedAs(account, domain)).mailbox_count).toBe(1);
});

test("a mailbox and an alias cannot have the same address: one of two requests at the same time is refused", async () => {
  const account = await newAccount();
  const { name: domain } = await home(account);
  const [ada = ""] = await stocked(account, domain, ["ada"]);
  const names = Array.from({ length: 6 }, (_, index) => `sales${index}`);
  const outcomes = await Promise.all(
    names.map((alias) =>
      Promise.all([
        send(account, "POST", at(ada, "/aliases"), { alias }),
        addMailbox(account, { domain, ...person(alias) }),
      ]),
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

test("does not name the mailbox that has the address to a caller who cannot see this mailbox", async () => {
  const account = await newAccount();
  const { id, name: domain } = await home(account);
  await stocked(account, domain, ["ada"]);
  const member = await newMember(account, { capability: "mailbox.create", scope: { type: "domain", id } });
  const { body } = await addMailbox(account, { domain, ...person("ada") }, { as: member });
  expect(body).toMatchObject({
    code: "address_taken",
    detail: `ada@${domain} is an address of a mailbox already. Choose another address.`,
  });
  expect(body.conflicts_with).toBeUndefined();
});

test("a local part that is taken in one domain is free in another", async () => {
  const account = await newAccount();
  const [first, second] = [await home(account), await home(account)];
  await added(account, first.name);
  expect((await added(account, second.name)).primary_email).toBe(`ada@${second.name}`);
});

test("after a domain has moved to another account, all its addresses are free there, and the old account has none", async () => {
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
  expect((await addMailbox(old, { domain: name, ...person("carl") })).status).toBe(409);
  expect((await send(newcomer, "GET", at(ada))).status).toBe(404);
});
