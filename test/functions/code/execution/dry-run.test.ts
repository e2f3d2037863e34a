import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { catalogue } from "../../../../functions/code/catalogue.ts";
import { exampleOf as exampleCallOf } from "../../../../functions/code/catalogue/example.ts";
import { execute } from "../../../../functions/code/execution/execute.ts";
import { routes } from "../../../../functions/routes.ts";
import type { InvocationContext } from "../../../../shared/http/invoke.ts";
import { fund } from "../../../support/billing.ts";
import { callRest, programOf } from "../../../support/call.ts";
import { codeContext, runFor } from "../../../support/code-context.ts";
import { active } from "../../../support/domains.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { exampleOf } from "../../../support/examples.ts";
import { home, stocked } from "../../../support/mailboxes.ts";
import { grant, newAccount, newMember, newSuperAdmin, newUser } from "../../../support/world.ts";

const dry = { dryRun: true };
const heldIn = (answer: Awaited<ReturnType<typeof runFor>>) => answer.dry_run?.calls.map(({ held }) => held);

const plannedIn = (answer: Awaited<ReturnType<typeof runFor>>) => answer.dry_run?.calls.map(({ planned }) => planned);

test("a dry run makes the reads, and lists the writes with their arguments", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  const domain = await active(account);
  const add = (name: string) =>
    `mailboxes.add(account_id="${id}", domain="${domain.name}", local_part="${name}", first_name="A", last_name="B")`;
  await runFor(owner, ["ann", "ben", "cho"].map(add).join("\n"));
  const before = await storedOf(account);
  const program = [
    `page = mailboxes.list(account_id="${id}", domain="${domain.name}")`,
    `[mailboxes.delete(account_id="${id}", mailbox=m.id) for m in page.items if m.primary_email != "ben@${domain.name}"]`,
    `f"{len(page.items)} of {page.total}"`,
  ].join("\n");
  const answer = await runFor(owner, program, dry);
  const [ann, , cho] = (await runFor(owner, `mailboxes.list(account_id="${id}").items`)).result.last_value as {
    id: string;
  }[];
  expect(answer).toEqual({
    request_id: "r",
    status: "completed",
    result: { last_value: "3 of 3" },
    responses: [],
    complexity_score: 26,
    dry_run: {
      calls: [
        {
          index: 0,
          function: "mailboxes.list",
          line: 1,
          column: 8,
          access: "read",
          capability: "mailbox.view",
          held: true,
          count: 1,
        },
        {
          index: 1,
          function: "mailboxes.delete",
          line: 2,
          column: 2,
          access: "write",
          capability: "mailbox.delete",
          held: true,
          count: 2,
          planned: [
            { arguments: { account_id: id, mailbox: ann?.id }, label: `ann@${domain.name}`, allowed: true },
            { arguments: { account_id: id, mailbox: cho?.id }, label: `cho@${domain.name}`, allowed: true },
          ],
        },
      ],
    },
  });
  expect(await storedOf(account)).toEqual(before);
});

test("a dry run shows the mailboxes that a bulk deletion would delete, and the values that depend on no write", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  const domain = await active(account);
  const add = (name: string) =>
    `mailboxes.add(account_id="${id}", domain="${domain.name}", local_part="${name}", first_name="A", last_name="B")`;
  const made = await runFor(owner, ["ann", "ben"].map(add).join("\n"));
  const [ann, ben] = made.responses.map((one) => (one.status === "completed" ? (one.result as { id: string }).id : ""));
  const program = [
    `hits = mailboxes.list(account_id="${id}", domain="${domain.name}").items`,
    `gone = mailboxes.bulk_delete(account_id="${id}", mailboxes=[m.id for m in hits] + ["nobody@${domain.name}"])`,
    `{"hits": [m.local_part for m in hits], "gone": gone.deleted}`,
  ].join("\n");
  const before = await storedOf(account);
  const answer = await runFor(owner, program, dry);
  expect(answer.result.last_value).toEqual({ hits: ["ann", "ben"], gone: null });
  const failed = [expect.objectContaining({ index: 2, code: "not_found" })];
  const previewFor = async (user: { id: string }, code: string) =>
    plannedIn(await runFor(user, code, dry))?.at(-1)?.[0]?.preview;
  expect(await previewFor(owner, program)).toEqual({ deleted: [`ann@${domain.name}`, `ben@${domain.name}`], failed });
  expect(await storedOf(account)).toEqual(before);
  const blind = await newMember(account, { capability: "mailbox.delete" });
  const alone = `mailboxes.bulk_delete(account_id="${id}", mailboxes=["${ann}", "${ben}", "nobody@${domain.name}"])`;
  expect(await previewFor(blind, alone)).toEqual({ deleted: [ann, ben], failed });
});

test("only the values that depend on the answer of a write are unknown, and the other values are shown", async () => {
  const { id, owner } = await newAccount();
  const program = [
    `ws = [workspaces.add(account_id="${id}", name=n) for n in ["A", "B"]]`,
    `[workspaces.update(account_id="${id}", workspace_id=w.id, name=f"{n} {len(ws)}") for n, w in zip(["C", "D"], ws)]`,
    `auth.groups.create(account_id="${id}", payload={"account_id": "${id}", "name": "G", "attributes": {"of": [1, ws[1].id]}})`,
    `workspaces.get(account_id="${id}", workspace_id=ws[0].id).name`,
  ].join("\n");
  const answer = await runFor(owner, program, dry);
  expect(answer).toMatchObject({ status: "completed", result: { last_value: null } });
  expect(plannedIn(answer)).toEqual([
    [
      { arguments: { account_id: id, name: "A" }, allowed: true },
      { arguments: { account_id: id, name: "B" }, allowed: true },
    ],
    [
      { arguments: { account_id: id, workspace_id: null, name: "C 2" }, unknown: ["workspace_id"], allowed: null },
      { arguments: { account_id: id, workspace_id: null, name: "D 2" }, unknown: ["workspace_id"], allowed: null },
    ],
    [
      {
        arguments: { account_id: id, payload: { account_id: id, name: "G", attributes: { of: [1, null] } } },
        unknown: ["payload.attributes.of[1]"],
        allowed: null,
      },
    ],
    undefined,
  ]);
  expect(answer.dry_run?.calls.map(({ count }) => count)).toEqual([2, 2, 1, 1]);
});

test("if the answer of a write decides whether or how often a call is made, the call is listed with an unknown count", async () => {
  const { id, owner } = await newAccount();
  const add = (name: string) => `workspaces.add(account_id="${id}", name=${name})`;
  const values = [
    `${add('"B"')} if w.name == "A" else workspaces.list(account_id="${id}")`,
    `w.name in ["A"] and ${add('"C"')}`,
    `[${add("x")} for x in w.name.split(",")]`,
    `[${add("x")} for x in ["D", "E"] if x != w.id]`,
    `[${add("x")} for x in ["F", "G"] if x != "F" and len(w.name) > 0]`,
    `w.name[workspaces.list(account_id="${id}").total]`,
    `[${add('"H"')} for x in []]`,
    `f'{w.name} {${add('"I"')}}'`,
    `{w.name: ${add('"J"')}}`,
    `w.name + "x" + ${add('"K"')}.name`,
  ];
  const code = [`w = ${add('"A"')}`, ...values.map((value, index) => `v${index} = ${value}`)].join("\n");
  const { dry_run, error } = await runFor(owner, code, dry);
  expect(error).toBeUndefined();
  const shown = dry_run?.calls.map(({ count, planned }) => [
    count,
    planned?.map((one) => (one.arguments as { name: unknown }).name),
  ]);
  expect(shown).toEqual([
    [1, ["A"]],
    [null, ["B"]],
    [null, undefined],
    [null, ["C"]],
    [null, [null]],
    [null, ["D", "E"]],
    [null, ["G"]],
    [1, undefined],
    [0, []],
    [1, ["I"]],
    [1, ["J"]],
    [1, ["K"]],
  ]);
});

test.each<[string, unknown]>([
  ["len([w.id, w])", 2],
  ['w.id in ["a", w.id] or [w] == [1]', null],
  ['{"a": [w]}', { a: [null] }],
  ['[x for x in ["a"] if x != w.id]', null],
  ['len([me.get().id for x in ["a", "b"] if x != w.id])', null],
  ["str([w.id])", null],
  ["sorted([w.id])", null],
  ['f"{[w.id]}"', null],
  ["-len(w.name)", null],
  ["[x for x, y in [[1, w]]]", [1]],
])("a dry run shows the known parts of the value %s after a write", async (expression, value) => {
  const { id, owner } = await newAccount();
  const answer = await runFor(owner, `w = workspaces.add(account_id="${id}", name="A")\n${expression}`, dry);
  expect(answer).toMatchObject({ status: "completed", result: { last_value: value } });
});

test("`allowed` is decided for the arguments of the write, as the call itself decides", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  const [mine, other] = (await runFor(owner, `[workspaces.add(account_id="${id}", name=n).id for n in ["A", "B"]]`))
    .result.last_value as string[];
  const member = await newMember(account, {
    capability: "workspace.manage",
    scope: { type: "workspace", id: mine ?? "" },
  });
  await grant(account, member, { capability: "workspace.view" });
  const update = (workspace: string, name: string) =>
    `workspaces.update(account_id="${id}", workspace_id="${workspace}", name=${name})`;
  const program = (last: string) =>
    [update(mine ?? "", '"C"'), update(other ?? "", '"C"'), update(randomUUID(), '"C"'), last].join("\n");
  const answer = await runFor(member, program(update(mine ?? "", '"x" * 300')), dry);
  expect(plannedIn(answer)).toMatchObject([
    [{ allowed: true }],
    [{ allowed: false, error: { code: "forbidden" } }],
    [{ allowed: false, error: { code: "forbidden" } }],
    [{ allowed: false, error: { code: "invalid_argument", message: expect.stringContaining("name") } }],
  ]);
  const ran = await runFor(member, update(other ?? "", '"C"'));
  const [refused] = plannedIn(answer)?.[1] ?? [];
  expect(ran.error?.message).toContain(refused?.error?.message);
  const stopped = await execute(
    { code: update(mine ?? "", '"C"'), requestId: "r", dryRun: true },
    { ...codeContext(owner), readOnly: "Maintenance." },
  );
  expect(plannedIn(stopped)).toMatchObject([[{ allowed: false, error: { code: "read_only" } }]]);
});

test("`allowed` is false for a write that would give more than the caller holds, and nothing is written", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  const admin = await newMember(account, { capability: "auth.manage" });
  const subject = `subject_id="${randomUUID()}", subject_type="user"`;
  const grants = (more: string) => `auth.authorizations.grant(account_id="${id}", ${subject}, ${more})`;
  const writes = [
    grants('grant_kind="account_owner"'),
    grants('grant_kind="capability", capability_key="mailbox.view"'),
    grants('grant_kind="capability", capability_key="auth.manage"'),
    `auth.role_assignments.assign(account_id="${id}", ${subject}, role_key="editor")`,
    `auth.roles.create(account_id="${id}", key="reader", name="R", capability_keys=["mailbox.view"])`,
    `auth.invitations.create(account_id="${id}", email="new@example.com", account_owner=True)`,
    `auth.groups.delete(account_id="${id}", group_id="${randomUUID()}")`,
  ];
  const allowedFor = async (user: Parameters<typeof runFor>[0]) =>
    Promise.all(
      writes.map(async (write) => {
        const [planned] = plannedIn(await runFor(user, write, dry)) ?? [];
        return planned?.map(({ allowed, error }) => error?.code ?? allowed);
      }),
    );
  const before = await storedOf(account);
  const more = ["would_escalate"];
  expect(await allowedFor(admin)).toEqual([more, more, [true], more, more, more, ["not_found"]]);
  expect(await allowedFor(owner)).toEqual([[true], [true], [true], [true], [true], [true], ["not_found"]]);
  expect(await storedOf(account)).toEqual(before);
  // The first write could change what the second one gives.
  const [one, two] = [writes[4] ?? "", (writes[4] ?? "").replace('"reader"', '"reader_2"')];
  expect(plannedIn(await runFor(admin, `${one}\n${two}`, dry))).toMatchObject([
    [{ allowed: false, error: { code: "would_escalate" } }],
    [{ allowed: null, error: { code: "would_escalate" } }],
  ]);
});

test("a dry run reports the error that the run of a write would report, such as a taken name or a missing workspace", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  const { name: domain, workspace_id } = await home(account);
  await stocked(account, domain, ["ann", "ben"]);
  await runFor(owner, `workspaces.add(account_id="${id}", name="Taken")\ntags.add(account_id="${id}", name="Taken")`);
  const call = (fn: string, rest: string) => `${fn}(account_id="${id}", ${rest})`;
  const writes = [
    call("workspaces.add", 'name="Taken"'),
    call("tags.add", 'name="Taken"'),
    call("workspaces.delete", `workspace_id="${workspace_id}"`),
    call("domains.move", `domain="${domain}", workspace_id="${randomUUID()}"`),
    call("auth.roles.create", 'key="viewer", name="V", capability_keys=["mailbox.view"]'),
    call("mailboxes.aliases.create", `mailbox="ann@${domain}", alias="ben"`),
    call("auth.roles.delete", 'role="viewer"'),
  ];
  const before = await storedOf(account);
  for (const write of writes) {
    const [first, second] = plannedIn(await runFor(owner, `${write}\n${write}`, dry)) ?? [];
    expect(await storedOf(account)).toEqual(before);
    const { error } = await runFor(owner, write);
    expect(first).toMatchObject([{ allowed: false, error: { code: error?.code } }]);
    expect(error?.message).toContain(first?.[0]?.error?.message);
    // The first write could remove the reason.
    expect(second).toMatchObject([{ allowed: null, error: { code: error?.code } }]);
  }
});

test("an earlier write can fulfil the condition of a later call, so `allowed` is null", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  await fund(account, 10_000);
  const { name: domain } = await home(account);
  await runFor(owner, `billing.plan.cancel(account_id="${id}", cancel_immediately=true)`);
  const change = `billing.plan.change(account_id="${id}", plan_id="per_mailbox")`;
  const add = `mailboxes.add(account_id="${id}", domain="${domain}", local_part="ann", first_name="A", last_name="B")`;
  const required = { error: { code: "plan_required" } };
  expect(plannedIn(await runFor(owner, add, dry))).toMatchObject([[{ allowed: false, ...required }]]);
  expect(plannedIn(await runFor(owner, `${change}\n${add}`, dry))?.[1]).toMatchObject([{ allowed: null, ...required }]);
});

test("a dry run does not rehearse a function that uses another system or has a rate limit of its own", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  const { name: domain } = await home(account);
  await stocked(account, domain, ["ann"]);
  const writes = [
    `mailboxes.add(account_id="${id}", domain="${domain}", local_part="ann", first_name="A", last_name="B")`,
    `forwarding.add(account_id="${id}", mailbox="ann@${domain}", target_email="ann@${domain}")`,
  ];
  for (const write of writes) {
    expect((await runFor(owner, write)).status).toBe("failed");
    expect(plannedIn(await runFor(owner, write, dry))).toMatchObject([[{ allowed: true }]]);
  }
});

test("a missing resource can exist after an earlier write, so `allowed` is null; a caller gets labels only of visible resources", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  const domain = await active(account);
  const missing = `domains.update(account_id="${id}", domain="missing.example", auto_renew=False)`;
  const known = `domains.update(account_id="${id}", domain="${domain.name}", auto_renew=False)`;
  const program = [missing, known, missing].join("\n");
  const refused = { error: { code: "not_found" } };
  expect(plannedIn(await runFor(owner, program, dry))).toMatchObject([
    [{ allowed: false, ...refused }],
    [{ allowed: true, label: domain.name }],
    [{ allowed: null, ...refused }],
  ]);
  const blind = await newMember(account, { capability: "domain.update" });
  const [planned] = plannedIn(await runFor(blind, known, dry)) ?? [];
  expect(planned).toEqual([{ arguments: expect.any(Object), allowed: true }]);
});

test("a dry run refuses a missing resource also for a function that it does not rehearse", async () => {
  const { id, owner } = await newAccount();
  const webhook = `account_id="${id}", webhook_id="${randomUUID()}"`;
  const ip = `account_id="${id}", dedicated_ip_id="${randomUUID()}", domains=["missing.example"]`;
  const writes = [
    `webhooks.test(${webhook})`,
    `webhooks.rotate_secret(${webhook})`,
    `webhooks.deliveries.redeliver(${webhook}, delivery_id="${randomUUID()}")`,
    `dedicated_ips.domains.assign(${ip})`,
    `dedicated_ips.domains.unassign(${ip})`,
  ];
  const error = { code: "not_found" };
  for (const write of writes) {
    expect(plannedIn(await runFor(owner, write, dry)), write).toMatchObject([[{ allowed: false, error }]]);
    const after = plannedIn(await runFor(owner, `workspaces.add(account_id="${id}", name="A")\n${write}`, dry));
    expect(after?.[1], write).toMatchObject([{ allowed: null, error }]);
  }
});

test("a read after a write returns the state before the write, with `may_differ`, and its failure does not end the dry run", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  const list = `workspaces.list(account_id="${id}").total`;
  const get = `domains.get(account_id="${id}", domain="new.example").id`;
  const program = `a = ${list}\nworkspaces.add(account_id="${id}", name="A")\nb = ${get}\nc = ${list}\n[a, c]`;
  const answer = await runFor(owner, program, dry);
  expect(answer).toMatchObject({ status: "completed", result: { last_value: [0, 0] } });
  expect(answer.dry_run?.calls.map((call) => call.may_differ)).toEqual([undefined, undefined, true, true]);
  const failed = await runFor(owner, `${get}\nworkspaces.add(account_id="${id}", name="A")`, dry);
  expect(failed).toMatchObject({
    status: "failed",
    error: { code: "not_found", line: 1 },
    dry_run: { calls: [{ count: 1 }, { count: 0, planned: [] }] },
  });
});

const writes = routes.filter(({ access }) => access === "write");

test.each(writes.map((route) => [route.name, route] as const))(
  "a dry run of %s changes nothing, and refuses the same callers as the call itself",
  async (_, route) => {
    const account = await newAccount();
    const example = await exampleOf(route, account);
    const viewer = await newMember(account, { role: "viewer" });
    const call = programOf(route, example);
    const never = async (): Promise<never> => {
      throw new Error("a dry run writes nothing");
    };
    const before = await storedOf(account);
    const context = codeContext(account.owner);
    const table = { ...context.table, attempt: never, commit: never };
    // The second call is planned after a write, and must write nothing either.
    const run = { code: `${call}\n${call}`, requestId: "r", dryRun: true };
    const [one] = plannedIn(await execute(run, { ...context, table })) ?? [];
    expect(one).toEqual([expect.objectContaining({ allowed: true })]);
    const [seen] = plannedIn(await runFor(viewer, call, dry)) ?? [];
    expect(await storedOf(account)).toEqual(before);
    const { status, body } = await callRest(route, example, viewer.token);
    // A dry run does not check whether an invitation is for the caller.
    const isForbidden = status === 403 && body.code !== "invitation_not_yours";
    expect(seen?.[0]?.error?.code === "forbidden").toBe(isForbidden);
  },
);

test.each([...catalogue].map(([name, fn]) => [name, exampleCallOf(fn)] as const))(
  "the example of %s in `functions.explain` has a dry run without an error of ours",
  async (_, example) => {
    const answer = await runFor(newUser(), example, { ...dry, sessionId: "s" });
    expect(answer.error?.code).not.toBe("internal");
  },
);

test("a dry run of the functions that end or begin the session lists them as allowed, and keeps the session", async () => {
  const user = newUser();
  await runFor(user, "x = 1", { sessionId: "s" });
  const program = "auth.session.end()\nauth.session.authenticate()";
  const allowed = { arguments: {}, allowed: true };
  const answer = await runFor(user, program, { ...dry, sessionId: "s" });
  expect([answer.status, plannedIn(answer)]).toEqual(["completed", [[allowed], [allowed]]]);
  expect((await runFor(user, "x", { sessionId: "s" })).result.last_value).toBe(1);
});

test("`held` says whether the caller holds the capability of a call, and is null if this is unknown", async () => {
  const account = await newAccount();
  const { id } = account;
  const viewer = await newMember(account, { capability: "workspace.view" });
  const scoped = await newMember(account, {
    capability: "workspace.manage",
    scope: { type: "workspace", id: randomUUID() },
  });
  const program = [
    `workspaces.list(account_id="${id}")`,
    `workspaces.add(account_id="${id}", name="A")`,
    `workspaces.update(account_id="${id}", workspace_id="${randomUUID()}", name="A")`,
    `a = "${id}"`,
    "workspaces.list(account_id=a)",
    "mine = me.get()",
    "workspaces.list(account_id=mine.id)",
  ].join("\n");
  expect(heldIn(await runFor(account.owner, program, dry))).toEqual([true, true, true, true, true, null]);
  expect(heldIn(await runFor(viewer, program, dry))).toEqual([true, false, false, true, true, null]);
  expect(heldIn(await runFor(scoped, program, dry))).toEqual([false, false, null, false, true, null]);
  expect(heldIn(await runFor(newUser(), program, dry))).toEqual([false, false, false, false, true, null]);
  expect(heldIn(await runFor(await newSuperAdmin(), program, dry))).toEqual([true, true, true, true, true, null]);
});

test("a dry run of a program that only reads has the same result as its run", async () => {
  const { id, owner } = await newAccount();
  await runFor(owner, `[workspaces.add(account_id="${id}", name=f"W {i}").id for i in range(4)]`);
  const code = `page = workspaces.list(account_id="${id}", page_size=50)\n{"names": sorted([w.name for w in page.items if w.name != "W 2"], reverse=True), "text": f"{page.total} {[1, {'a': 2}]}"}`;
  const run = await runFor(owner, code);
  expect(run.result.last_value).toMatchObject({ names: ["W 3", "W 1", "W 0"] });
  expect((await runFor(owner, code, dry)).result).toEqual(run.result);
});

test("a dry run of a program with a mistake has the same answer as its run", async () => {
  const user = newUser();
  expect(await runFor(user, "me.gt()", dry)).toEqual(await runFor(user, "me.gt()"));
});

test("a dry run is charged for its reads and 1 for each write, minus the 1 that its request has already paid", async () => {
  const costsOf = counting();
  const read = "accounts.list(page_size=100)\naccounts.list(page_size=100)";
  const paid = { cost: 7, prepaid: 1 };
  expect(await costsOf({ code: read, dryRun: true })).toEqual([paid]);
  expect(await costsOf({ code: read })).toEqual([paid]);
  const write = `[domains.verify(account_id="${randomUUID()}", domain=d) for d in ["a.com", "b.com", "c.com"]]`;
  expect(await costsOf({ code: write, dryRun: true })).toEqual([{ cost: 2, prepaid: 1 }]);
  expect(await costsOf({ code: write })).toContainEqual({ cost: 14, prepaid: 1 });
});

/** Returns a function that runs a program and returns its charges, besides what its request has already paid. */
function counting(): (run: { code: string; dryRun?: boolean }) => Promise<object[]> {
  const context = codeContext(newUser());
  return async (run) => {
    const costs: object[] = [];
    const charge: InvocationContext["charge"] = async ({ cost, prepaid }) => void costs.push({ cost, prepaid });
    const reserve: InvocationContext["reserve"] = async (what) => {
      await charge(what);
      return { isOwn: false, settle: async () => undefined };
    };
    await execute({ ...run, requestId: "r" }, { ...context, charge, reserve });
    return costs;
  };
}

test("a read-only program is refused as a whole if one of its functions writes", async () => {
  const { id, owner } = await newAccount();
  const program = `me.get()\nworkspaces.add(account_id="${id}", name="A")`;
  const { error, responses } = await runFor(owner, program, { readOnly: true });
  expect(responses).toEqual([]);
  expect(error).toMatchObject({
    code: "read_only",
    line: 2,
    message: expect.stringContaining("workspaces.add changes"),
  });
  expect((await runFor(owner, "me.get()", { readOnly: true })).status).toBe("completed");
});

test("each write of a program with an idempotency key has a key of its own, so a repeat does no write twice", async () => {
  const { id, owner } = await newAccount();
  const program = `ws = [workspaces.add(account_id="${id}", name=n) for n in ["A", "B"]]\nworkspaces.add(account_id="${id}", name="C")\n[w.id for w in ws]`;
  const first = await runFor(owner, program, { key: "k1" });
  expect(first.status).toBe("completed");
  expect(await runFor(owner, program, { key: "k1" })).toEqual(first);
  const other = program.replace('"C"', '"D"');
  expect((await runFor(owner, other, { key: "k1" })).error).toMatchObject({ code: "idempotency_key_reused", line: 2 });
  expect((await runFor(owner, program, { key: "k2" })).error).toMatchObject({ code: "workspace_name_taken" });
  expect((await runFor(owner, `workspaces.list(account_id="${id}").total`)).result.last_value).toBe(3);
});

test("in a part that a run may skip, errors take steps, and too many errors end the dry run", async () => {
  const { id, owner } = await newAccount();
  const readsMissing = (count: number) =>
    [
      `w = workspaces.add(account_id="${id}", name="A")`,
      'd = {"name": 1}',
      `[d["nam" + "e" * (i + 2)] for i in range(${count})] if w.id == "x" else 0`,
    ].join("\n");
  expect(await runFor(owner, readsMissing(100), dry)).toMatchObject({ status: "completed" });
  expect((await runFor(owner, readsMissing(500), dry)).error).toMatchObject({ code: "too_much_work", line: 3 });
});

test("unpacking an unknown item into many names takes steps for each name", async () => {
  const { id, owner } = await newAccount();
  const names = Array.from({ length: 2_000 }, (_, index) => `v${index}`).join(", ");
  const program = `w = workspaces.add(account_id="${id}", name="A")\n[0 for ${names} in [w.id] * 2000]`;
  expect((await runFor(owner, program, dry)).error).toMatchObject({ code: "too_much_work", line: 2 });
});

test("the answer of a dry run has a bounded size, however much is unknown", async () => {
  const { id, owner } = await newAccount();
  const code = [
    `w = workspaces.add(account_id="${id}", name="A")`,
    `xs = [w.id] * 1000`,
    `ys = [xs] * 300`,
    `[auth.groups.create(account_id="${id}", payload={"account_id": "${id}", "name": "G", "attributes": {"of": ys}}) for i in range(2)]`,
  ].join("\n");
  const answer = await runFor(owner, code, { dryRun: true });
  expect(JSON.stringify(answer).length).toBeLessThan(6_000_000);
});
