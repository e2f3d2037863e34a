import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { NoAnswer, openApi } from "../../../infra/mail-server/adapter/api.ts";
import { tablesOf, type Table } from "../../../infra/mail-server/adapter/maps.ts";
import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { holderKey } from "../../../shared/domains/domain.ts";
import { activeIp, newOption, send as sendIp } from "../../support/dedicated-ips.ts";
import { setStored, write } from "../../support/domain-work.ts";
import { funded } from "../../support/domains.ts";
import { agreedRule } from "../../support/forwarding.ts";
import { serveMailRoutes } from "../../support/mail-server.ts";
import { added, at, home, send } from "../../support/mailboxes.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

let mailRoutes: Awaited<ReturnType<typeof serveMailRoutes>>;

beforeAll(async () => {
  mailRoutes = await serveMailRoutes();
});
afterAll(() => mailRoutes.stop());

/** A table for Postfix, of a new adapter that has kept no answers. */
function table(name: string): Table {
  const api = openApi({ api: mailRoutes.base, mail_key: process.env["MAIL_SECRET"] ?? "" });
  return tablesOf(api, ["srs.example.test"])[name] as Table;
}

/**
 * Makes a domain with one mailbox, in the account `of` or else in a new account. `user` is Dovecot's name of the
 * mailbox.
 */
async function place(
  local: string,
  of?: Account,
): Promise<{ account: Account; name: string; address: string; id: string; user: string }> {
  const account = of ?? (await newAccount());
  const { name } = await home(account);
  const { id } = await added(account, name, local);
  return { account, name, address: `${local}@${name}`, id, user: `${id}@${account.id}` };
}

/** Where Postfix sends the mail to an address. Looks each result up again, as Postfix does. */
async function expanded(address: string): Promise<string[]> {
  const route = table("route");
  const once = (await route(address))?.split(", ") ?? [];
  const again = await Promise.all(once.map(async (one) => (await route(one)) ?? one));
  expect(again).toEqual(once);
  return once.toSorted();
}

describe("the route of mail that is forwarded between accounts", () => {
  test("reaches each mailbox once if both mailboxes keep their mail", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, bob.address, { mailbox: ada.id });
    await agreedRule(bob.account, ada.address, { mailbox: bob.id });
    const both = [ada.user, bob.user].toSorted();
    expect(await expanded(ada.address)).toEqual(both);
    expect(await expanded(bob.address)).toEqual(both);
  });

  test("ends at the other mailbox if neither mailbox keeps its mail", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, bob.address, { mailbox: ada.id, keep_copy: false });
    await agreedRule(bob.account, ada.address, { mailbox: bob.id, keep_copy: false });
    expect(await expanded(ada.address)).toEqual([bob.user]);
    expect(await expanded(bob.address)).toEqual([ada.user]);
  });

  test("ends at one mailbox if the way back is by an address with a tag", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, bob.address, { mailbox: ada.id, keep_copy: false });
    await agreedRule(bob.account, `ada+lists@${ada.name}`, { mailbox: bob.id, keep_copy: false });
    for (const to of [ada, bob]) expect(await expanded(to.address)).toHaveLength(1);
  });

  test("ends at a mailbox, also through an address that no mailbox has", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, `sales@${bob.name}`, { mailbox: ada.id, keep_copy: false });
    await agreedRule(bob.account, ada.address, { address: "sales", domain: bob.name });
    expect(await expanded(ada.address)).toEqual([ada.user]);
    expect(await expanded(`sales@${bob.name}`)).toEqual([ada.user]);
  });

  test("ends at the mailbox if nobody has the target any more, and an address without a mailbox is then refused", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, bob.address, { mailbox: ada.id, keep_copy: false });
    const bea = await place("bea", bob.account);
    await agreedRule(ada.account, bea.address, { address: "sales", domain: ada.name });
    const sales = `sales@${ada.name}`;
    expect([await expanded(ada.address), await expanded(sales)]).toEqual([[bob.user], [bea.user]]);
    for (const { account, id } of [bob, bea]) await send(account, "DELETE", at(id));
    expect(await expanded(ada.address)).toEqual([ada.user]);
    const recipients = table("recipients");
    expect([await recipients(ada.address), await recipients(sales)]).toEqual(["here", undefined]);
  });

  test("leaves for an address elsewhere through both accounts", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await agreedRule(ada.account, bob.address, { mailbox: ada.id, keep_copy: false });
    await agreedRule(bob.account, "carol@elsewhere.example.org", { mailbox: bob.id, keep_copy: false });
    expect(await expanded(ada.address)).toEqual(["carol@elsewhere.example.org"]);
  });
});

describe("mail to a domain whose MX is elsewhere", () => {
  const leave = ({ account, name }: { account: Account; name: string }) =>
    setStored(account, name, { dns_mode: "external", seen_right: [] });

  test("leaves for its MX if nobody here has the address, and stays here otherwise", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    await leave(ada);
    const places = [ada.address, `nobody@${ada.name}`, bob.address, `nobody@${bob.name}`, `"a@b"@${bob.name}`];
    const found = await Promise.all([...places, "carol@example.org", ada.user, ada.name].map(table("place")));
    expect(found).toEqual(["here", "elsewhere", "here", "here", "here", undefined, undefined, undefined]);
  });

  test("is a target of forwarding, but the address itself is refused by our MX", async () => {
    const [ada, bob] = [await place("ada"), await place("bob")];
    const bea = await place("bea", bob.account);
    await agreedRule(ada.account, bea.address, { mailbox: ada.id, keep_copy: false });
    await send(bob.account, "DELETE", at(bea.id));
    await leave(bea);
    expect(await expanded(ada.address)).toEqual([bea.address]);
    const recipients = table("recipients");
    expect([await recipients(ada.address), await recipients(bea.address)]).toEqual(["here", undefined]);
  });
});

describe("the way of queued mail", () => {
  const service = (from: string) => table("sender_transport")(from);

  test("is the shared addresses for the product's copies and bounces, and for a customer without a dedicated IP", async () => {
    const { address, name } = await place("ada");
    for (const from of [address, `ada+news@${name}`, "srs0=abcd=xy=example.org=dan@srs.example.test", "<>", ""]) {
      expect([from, await service(from)]).toEqual([from, undefined]);
    }
  });

  test("is closed while the mailbox is paused, the account is closed, or the domain is lost, also for the catch-all", async () => {
    const { account, address, name, id } = await place("ada");
    const senders = [address, `sales@${name}`];
    await send(account, "POST", at(id, "/aliases"), { alias: "*" });
    /** The answers for both senders. `true` stands for `NoAnswer`, which makes Postfix hold the mail. */
    const seen = async () =>
      Promise.all(senders.map((from) => service(from).catch((error: unknown) => error instanceof NoAnswer)));
    const held = [true, true];
    await send(account, "PATCH", at(id, "/active"), { active: false });
    expect(await seen()).toEqual(held);
    await send(account, "PATCH", at(id, "/active"), { active: true });
    expect(await seen()).toEqual([undefined, undefined]);
    await setStored(account, name, { status: "releasing", is_open: false });
    expect(await seen()).toEqual(held);
    await setStored(account, name, { status: "active", is_open: true });
    await write({ update: holderKey(name), set: { firm: false } });
    expect(await seen()).toEqual(held);
    await write({ update: holderKey(name), set: { firm: true } });
    await setAccountStatus(testTable(), account.id, "closed", new Date());
    expect(await seen()).toEqual(held);
    await write({ delete: holderKey(name) });
    expect(await seen()).toEqual(held);
  });

  test("is the dedicated IP also for an address from which the catch-all sends, even if a rule forwards the address", async () => {
    const { option_id } = await newOption(1, { relay: "127.0.0.1:2525" });
    const account = await funded(await newAccount());
    const ip = await activeIp(account, option_id);
    const { name, id } = await place("ada", account);
    await send(account, "POST", at(id, "/aliases"), { alias: "*" });
    await sendIp(account, "POST", `/${ip.id}/domains/assign`, { domains: [name] });
    await agreedRule(account, "sal@elsewhere.example.org", { address: "sales", domain: name });
    const wanted = `ip-${ip.ip_addresses[0]?.ip.replaceAll(":", "-")}:`;
    for (const local of ["ada", "anybody", "sales"]) expect(await service(`${local}@${name}`)).toBe(wanted);
  });
});
