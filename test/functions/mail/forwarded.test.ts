import fc from "fast-check";
import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { targetKey } from "../../../shared/mail/forwarding/rule.ts";
import { write } from "../../support/domain-work.ts";
import { adding, agreedRule, enter, mailed, ofRule, ruleTo, stranger } from "../../support/forwarding.ts";
import { whereTo } from "../../support/mail-routes.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { testTable } from "../../support/world.ts";

type Mail = { kind: string; keep_copy?: boolean; mailbox?: string; copies?: { address: string }[] };

/** Where mail for an address goes: the kind, whether the mailbox keeps the mail, and the other addresses. */
async function routed(address: string): Promise<{ kind: string; kept: boolean; to: string[] }> {
  const { kind, keep_copy: kept = false, copies = [] } = (await whereTo(address)) as unknown as Mail;
  return { kind, kept, to: copies.map(({ address: to }) => to).toSorted() };
}

/** An account with a domain that has mailboxes, by default ada and bob. */
async function scene(locals = ["ada", "bob"]) {
  const account = await newRoomyAccount();
  const domain = await home(account);
  await stocked(account, domain.name, locals);
  return { account, domain: domain.name, id: domain.id };
}

test("a rule for a mailbox copies only the mail of this mailbox, to any of its addresses", async () => {
  const { account, domain } = await scene();
  await send(account, "POST", at(`ada@${domain}`, "/aliases"), { alias: "countess" });
  await send(account, "POST", at(`ada@${domain}`, "/aliases"), { alias: "*" });
  const target = stranger();
  await agreedRule(account, target, { mailbox: `ada@${domain}` });
  for (const [local, kind] of Object.entries({
    ada: "mailbox",
    countess: "alias",
    "ada+x": "mailbox",
    who: "catch_all",
  })) {
    expect(await routed(`${local}@${domain}`), local).toEqual({ kind, kept: true, to: [target] });
  }
  expect(await routed(`bob@${domain}`)).toEqual({ kind: "mailbox", kept: true, to: [] });
});

test("mail to a rule's address without a mailbox goes only to the targets, also with a tag", async () => {
  const { account, domain } = await scene();
  const target = stranger();
  await agreedRule(account, target, { domain, address: "Sales" });
  await ruleTo(account, `ada@${domain}`, { domain, address: "team" });
  const { body } = await adding(account, stranger(), { domain, address: "soon" });
  expect(body).toMatchObject({ address: "soon", keep_copy: false, verification_state: "pending" });
  for (const local of ["sales", "SALES", "sales+2026"]) {
    expect(await whereTo(`${local}@${domain}`), local).toEqual({
      status: 200,
      kind: "forward",
      account_id: account.id,
      copies: [{ address: target, mailbox_id: null }],
    });
  }
  expect(await routed(`team@${domain}`)).toEqual({ kind: "forward", kept: false, to: [`ada@${domain}`] });
  for (const local of ["sale", "sales2", "soon"]) expect((await routed(`${local}@${domain}`)).kind, local).toBe("none");
  const other = await home(account);
  expect((await routed(`sales@${other.name}`)).kind).toBe("none");
});

test("mail goes to the mailbox, or else by the rule for the address, the longest pattern, the catch-all, or the first mailbox", async () => {
  const { account, domain } = await scene();
  const to = async (local: string) => {
    const { kind, to: targets } = await routed(`${local}@${domain}`);
    return targets[0] ?? kind;
  };
  const add = async (address: string) => {
    const target = stranger(address.replaceAll("*", "x"));
    await agreedRule(account, target, { domain, address });
    return target;
  };
  expect(await to("postmaster")).toBe("role");
  await send(account, "POST", at(`bob@${domain}`, "/aliases"), { alias: "*" });
  expect([await to("postmaster"), await to("sales-de")]).toEqual(["catch_all", "catch_all"]);
  const all = await add("*");
  expect([await to("postmaster"), await to("sales-de")]).toEqual([all, all]);
  const before = await add("sales*");
  const after = await add("*-de");
  expect([await to("sales-de"), await to("info-de"), await to("sales")]).toEqual([before, after, before]);
  const own = await add("sales-de");
  expect([await to("sales-de"), await to("sales-fr")]).toEqual([own, before]);
  expect([await to("ada"), await to("bob")]).toEqual(["mailbox", "mailbox"]);
  await send(account, "POST", at(`bob@${domain}`, "/aliases"), { alias: "sales-de" });
  expect(await to("sales-de")).toBe("alias");
});

test("a rule is skipped if none of its targets can get mail", async () => {
  const { account, domain } = await scene();
  const [narrow, wide] = [stranger("narrow"), stranger("wide")];
  const rule = await agreedRule(account, narrow, { domain, address: "sales" });
  await agreedRule(account, wide, { domain, address: "s*" });
  const sales = async () => (await routed(`sales@${domain}`)).to;
  expect(await sales()).toEqual([narrow]);
  await send(account, "PATCH", ofRule(rule.id, "/active"), { active: false });
  expect(await sales()).toEqual([wide]);
  await send(account, "PATCH", ofRule(rule.id, "/active"), { active: true });
  await send(account, "PATCH", ofRule(rule.id), { target_email: stranger() });
  expect(await sales()).toEqual([wide]);
  await send(account, "PATCH", ofRule(rule.id), { target_email: `bob@${domain}` });
  expect(await sales()).toEqual([`bob@${domain}`]);
  await send(account, "DELETE", at(`bob@${domain}`));
  expect(await sales()).toEqual([wide]);
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect(await routed(`sales@${domain}`)).toEqual({ kind: "none", kept: false, to: [] });
});

test("without keep_copy a mailbox keeps its mail only while no target can get it", async () => {
  const { account, domain } = await scene();
  const target = stranger();
  const rule = await ruleTo(account, target, { mailbox: `ada@${domain}`, keep_copy: false });
  const ada = () => routed(`ada@${domain}`);
  expect(await ada()).toEqual({ kind: "mailbox", kept: true, to: [] });
  const { code } = await mailed(account, rule);
  await enter(account, rule.id, code);
  expect(await ada()).toEqual({ kind: "mailbox", kept: false, to: [target] });
  const { body } = await send(account, "PATCH", ofRule(rule.id), { keep_copy: true });
  expect([body.keep_copy, body.verification_state]).toEqual([true, "verified"]);
  expect(await ada()).toEqual({ kind: "mailbox", kept: true, to: [target] });
  await send(account, "PATCH", ofRule(rule.id), { keep_copy: false });
  await send(account, "PATCH", ofRule(rule.id, "/active"), { active: false });
  expect(await ada()).toEqual({ kind: "mailbox", kept: true, to: [] });
  await send(account, "PATCH", ofRule(rule.id, "/active"), { active: true });
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect(await ada()).toEqual({ kind: "mailbox", kept: true, to: [] });
});

test("if a rule of a domain keeps no copies, a mailbox that is its target still keeps its own mail", async () => {
  const { account, domain } = await scene();
  await ruleTo(account, `ada@${domain}`, { domain, keep_copy: false });
  expect(await routed(`bob@${domain}`)).toEqual({ kind: "mailbox", kept: false, to: [`ada@${domain}`] });
  expect(await routed(`ada@${domain}`)).toEqual({ kind: "mailbox", kept: true, to: [] });
});

test("a target mailbox keeps no copy of forwarded mail if its own rule keeps no copies", async () => {
  const { account, domain } = await scene();
  const target = stranger();
  await agreedRule(account, target, { mailbox: `bob@${domain}`, keep_copy: false });
  await ruleTo(account, `bob@${domain}`, { mailbox: `ada@${domain}` });
  await ruleTo(account, `bob@${domain}`, { domain, address: "sales" });
  expect(await routed(`ada@${domain}`)).toEqual({ kind: "mailbox", kept: true, to: [target] });
  expect(await routed(`sales@${domain}`)).toEqual({ kind: "forward", kept: false, to: [target] });
});

test("with any rules, mail is kept or goes to at least one address, and each address gets it once", async () => {
  const locals = ["a", "b", "c", "d", "e", "f"];
  const account = await newRoomyAccount();
  const { name: domain, id: domainId } = await home(account);
  const ids = await stocked(account, domain, locals);
  await ruleTo(account, stranger(), { domain });
  const index = fc.nat({ max: locals.length - 1 });
  const edge = fc.record({
    from: index,
    to: index,
    isOutside: fc.boolean(),
    keeps: fc.boolean(),
    isWide: fc.boolean(),
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(edge, { maxLength: 12 }), async (edges) => {
      run += 1;
      const rows = edges.map(({ from, to, isOutside, keeps, isWide }, number) => {
        const scope = isWide ? { type: "domain", id: domainId } : { type: "mailbox", id: ids[from] ?? "" };
        const target_email = isOutside ? `out${to}@elsewhere.example` : `${locals[to]}@${domain}`;
        const key = targetKey(account.id, scope as { type: "mailbox"; id: string }, `${run}-${number}`);
        return { key, row: { rule_id: `${number}`, target_email, flows: true, keep_copy: keeps } };
      });
      await Promise.all(rows.map(({ key, row }) => write({ put: { ...key, ...row } })));
      try {
        for (const local of locals) {
          const { kept, to } = await routed(`${local}@${domain}`);
          expect(kept || to.length > 0).toBe(true);
          expect(new Set(to).size).toBe(to.length);
          expect(to).not.toContain(`${local}@${domain}`);
        }
      } finally {
        await Promise.all(rows.map(({ key }) => write({ delete: key })));
      }
    }),
    { numRuns: 25 },
  );
});

test("the rules of a deleted mailbox send nothing, and work again when it is restored", async () => {
  const { account, domain } = await scene();
  const [ada = ""] = (await send(account, "GET", "mailboxes")).body.items.map(({ id }: { id: string }) => id);
  const target = stranger();
  const rule = await agreedRule(account, target, { mailbox: ada, keep_copy: false });
  await send(account, "DELETE", at(ada));
  await stocked(account, domain, ["carol"]);
  expect((await routed(`ada@${domain}`)).kind).toBe("none");
  expect((await send(account, "GET", ofRule(rule.id))).status).toBe(200);
  expect((await send(account, "POST", at(ada, "/restore"), {})).status).toBe(200);
  expect(await routed(`ada@${domain}`)).toEqual({ kind: "mailbox", kept: false, to: [target] });
});
