import { describe, expect, test } from "vitest";
import * as z from "zod";

import { accessKey } from "../../../shared/accounts/standing.ts";
import { change, defineKind } from "../../../shared/changes/kind.ts";
import { etagOf } from "../../../shared/core/etag.ts";
import { invoke } from "../../../shared/http/invoke.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { codeContext } from "../../support/code-context.ts";
import { newAccount, newMember, testTable, type Account, type User } from "../../support/world.ts";

const workspace = { type: "workspace" as const, id: "99999999-9999-4999-8999-999999999999" };

/** A route that uses up its resource. A repeated call does not find the resource any more. */
function usingUp({ fails }: { fails?: Error } = {}) {
  let [isThere, runs] = [true, 0];
  return defineRoute({
    name: "toys.use_up",
    http: { method: "POST", path: "/v1/public/accounts/{account_id}/toys" },
    summary: "Use a toy up",
    capability: "workspace.manage",
    access: "write",
    params: z.object({ account_id: z.string() }),
    output: z.object({ run: z.int() }),
    subject: {
      at: ["body", "toy"],
      within: ["workspace"],
      find: async () => {
        if (!isThere && fails) throw fails;
        return isThere ? { id: "toy", scopes: [workspace], thing: undefined } : undefined;
      },
    },
    run: async (_, { commit }) => {
      const value = { run: (runs += 1) };
      isThere = false;
      return commit(async () => ({ value, writes: [], changes: [], housekeeping: true }));
    },
  });
}

type Sent = { callKey: string } | { headers: { "idempotency-key": string } };

const send = (route: ReturnType<typeof usingUp>, account: Account, user: User, how: Sent = { callKey: "c" }) =>
  invoke(route, { params: { account_id: account.id }, query: {}, body: {}, ...how }, codeContext(user));

const missing = { errors: [{ loc: ["body", "toy"], type: "not_found" }] };

describe("a repeated call of a program whose resource is gone", () => {
  test("gets the stored answer if the caller still has the permission in the scopes of the resource", async () => {
    const account = await newAccount();
    const member = await newMember(account, { capability: "workspace.manage", scope: workspace });
    const route = usingUp();
    expect(await send(route, account, member)).toMatchObject({ output: { run: 1 }, replayed: false });
    expect(await send(route, account, member)).toMatchObject({ output: { run: 1 }, replayed: true });
  });

  test("is refused if the caller has lost the permission", async () => {
    const account = await newAccount();
    const member = await newMember(account, { capability: "workspace.manage", scope: workspace });
    const route = usingUp();
    await send(route, account, member);
    const key = accessKey(account.id, { type: "user", id: member.id });
    await testTable().attempt({ update: key, set: { grants: [{ id: "g", capability: "workspace.view" }] } });
    await expect(send(route, account, member)).rejects.toMatchObject({ code: "forbidden" });
    await testTable().attempt({ delete: key });
    await expect(send(route, account, member)).rejects.toMatchObject({ code: "not_found" });
  });

  test("fails if the table fails, because this failure is not a refusal", async () => {
    const account = await newAccount();
    const outage = new Error("gone");
    const route = usingUp({ fails: outage });
    await send(route, account, account.owner);
    await expect(send(route, account, account.owner)).rejects.toBe(outage);
  });
});

describe("a request with a key, over REST,", () => {
  const how = { headers: { "idempotency-key": "k" } };

  test("whose resource is gone is refused, even if it was answered before", async () => {
    const account = await newAccount();
    const route = usingUp();
    expect(await send(route, account, account.owner, how)).toMatchObject({ output: { run: 1 } });
    await expect(send(route, account, account.owner, how)).rejects.toMatchObject(missing);
  });

  test("is recorded without the scopes of its resource; only the record of a program's call has them", async () => {
    const account = await newAccount();
    for (const [one, scopes] of [
      [how, undefined],
      [{ callKey: "c" }, [workspace]],
    ] as const) {
      const member = await newMember(account, { capability: "workspace.manage" });
      await send(usingUp(), account, member, one);
      const records = await testTable().between(`PRINCIPAL#${member.id}`, "IDEMPOTENCY#", "IDEMPOTENCY#~");
      expect(records.map((record) => record["scopes"])).toEqual([scopes]);
    }
  });
});

describe("a condition of a request is about the resource", () => {
  const view = z.object({ id: z.string() });
  const kind = defineKind({ name: "toy", verbs: ["updated"], view, seenWith: "account.view" });
  const box = { id: "box" };
  const toy = { id: "toy" };

  /** Changes a box and a toy in it, on the condition that `on` has not changed. */
  const changing = async (on: { id: string }, more: object) => {
    const account = await newAccount();
    const route = defineRoute({
      name: "toys.update",
      http: {
        method: "PATCH",
        path: "/v1/public/accounts/{account_id}/boxes/{box}/toys/{toy}",
        etag: { view },
      },
      summary: "Change a toy",
      capability: null,
      open: "It is a toy.",
      access: "write",
      params: z.object({ account_id: z.string(), box: z.string(), toy: z.string() }),
      output: view,
      run: (_, { commit }) =>
        commit(async () => ({
          value: toy,
          writes: [],
          changes: [box, toy].map((one) => change(kind, "updated", one.id, { before: one, after: one })),
        })),
      ...more,
    });
    const params = { account_id: account.id, box: "box", toy: "toy" };
    const raw = { params, query: {}, body: {}, headers: { "if-match": etagOf(on) } };
    return invoke(route, raw, codeContext(account.owner)).then(
      () => "done",
      ({ code }: { code: string }) => code,
    );
  };

  test("that is the last one in the path", async () => {
    expect([await changing(toy, {}), await changing(box, {})]).toEqual(["done", "precondition_failed"]);
  });

  test("that the route's `subject` finds", async () => {
    const found = { id: "box", scopes: [], thing: undefined };
    const subject = { at: "path", within: [], find: async () => found };
    expect([await changing(box, { subject }), await changing(toy, { subject })]).toEqual([
      "done",
      "precondition_failed",
    ]);
  });
});
