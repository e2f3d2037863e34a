import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";
import * as z from "zod";

import { Problem } from "../../../shared/core/errors.ts";
import { invoke, rehearse, requireHonoured, type InvocationContext } from "../../../shared/http/invoke.ts";
import { defineRoute, type Context, type Route } from "../../../shared/http/route.ts";
import type { Charge } from "../../../shared/rate-limits/limiter.ts";
import { workspaceKind } from "../../../shared/workspaces/workspace.ts";
import { codeContext } from "../../support/code-context.ts";
import { newUser, testTable } from "../../support/world.ts";

type Run = (context: Context) => Promise<{ id: string }>;

/** The `run` of a route that commits a transaction, and answers with the transaction's value. */
const writing = (id: string): Run => {
  const plan = async () => ({ value: { id }, writes: [], changes: [], housekeeping: true });
  return (context) => context.commit(plan);
};

const toy = (run: Run, more: object = {}): Route =>
  defineRoute({
    name: "toys.make",
    http: { method: "POST", path: "/v1/public/toys" },
    summary: "Make a toy",
    capability: null,
    open: "It is a toy.",
    access: "write",
    output: z.object({ id: z.string() }),
    run: (_, context) => run(context),
    ...more,
  });

const keyed = (key = "k") => ({ params: {}, query: {}, body: {}, headers: { "idempotency-key": key } });
const plain = { params: {}, query: {}, body: {} };
const contextWith = (more: Partial<InvocationContext> = {}): InvocationContext => ({
  ...codeContext(newUser()),
  ...more,
});

describe("a call with an Idempotency-Key", () => {
  test("fails if its route answers with a copy of its transaction's value, and succeeds without the key", async () => {
    const at = contextWith();
    const other = toy(async (context) => ({ ...(await writing("a")(context)) }));
    await expect(invoke(other, keyed(), at)).rejects.toThrow("toys.make must answer with the value");
    expect(await invoke(other, plain, at)).toMatchObject({ output: { id: "a" }, replayed: false });
  });

  test("that is repeated gets the stored answer, and does not run again", async () => {
    const at = contextWith();
    let runs = 0;
    const counted = toy((context) => writing(`run ${(runs += 1)}`)(context));
    expect(await invoke(counted, keyed(), at)).toMatchObject({ output: { id: "run 1" }, replayed: false });
    expect(await invoke(counted, keyed(), at)).toMatchObject({ output: { id: "run 1" }, replayed: true });
  });

  test("stores the answer of `context.answer`, even if it has more than the transaction's value", async () => {
    const at = contextWith();
    const more = toy(async (context) => {
      await writing("less")(context);
      return context.answer({ id: "more" });
    });
    for (const replayed of [false, true]) {
      expect(await invoke(more, keyed(), at)).toMatchObject({ output: { id: "more" }, replayed });
    }
  });
});

describe("a failed call can be tried again", () => {
  const failing = (error: Error, resumes: boolean, taken: (string | undefined)[]) => {
    let isFirst = true;
    return toy(
      async (context) => {
        taken.push(context.keyId);
        if (isFirst) {
          isFirst = false;
          throw error;
        }
        return writing("done")(context);
      },
      { resumes, body: z.object({ as: z.string().optional() }) },
    );
  };
  const outage = new Problem("upstream_unavailable", "Gone.", { retry_after: 1 });
  const refusal = new Problem("limit_reached", "Enough.");
  const tried = async (error: Error, resumes: boolean) => {
    const [at, taken] = [contextWith(), [] as (string | undefined)[]];
    const route = failing(error, resumes, taken);
    await expect(invoke(route, keyed(), at)).rejects.toBe(error);
    // Another request with the same key.
    const other = await invoke(route, { ...keyed(), body: { as: "other" } }, at).then(
      () => "done",
      () => "refused",
    );
    if (other === "refused") await invoke(route, keyed(), at);
    return { other, isSame: taken[0] === taken[1] };
  };

  test("only by the same request, with the same key id, if it may be partly done", async () => {
    expect(await tried(outage, true)).toEqual({ other: "refused", isSame: true });
    expect(await tried(new Error("A mistake"), true)).toEqual({ other: "refused", isSame: true });
    expect(await tried(new Problem("internal", "A mistake."), true)).toEqual({ other: "refused", isSame: true });
  });

  test("by any request, with another key id, if nothing was done", async () => {
    expect(await tried(refusal, true)).toEqual({ other: "done", isSame: false });
    expect(await tried(outage, false)).toEqual({ other: "done", isSame: false });
  });
});

describe("in read-only mode", () => {
  test("a write is refused with the reason, and a read is answered", async () => {
    const at = contextWith({ readOnly: "Back at 15:00." });
    await expect(invoke(toy(writing("a")), plain, at)).rejects.toMatchObject({
      code: "read_only",
      message: "Back at 15:00.",
      extras: { retry_after: 60 },
    });
    const read = toy(async () => ({ id: "read" }), { access: "read" });
    expect(await invoke(read, plain, at)).toMatchObject({ output: { id: "read" } });
  });
});

describe("the charges of a call", () => {
  const params = z.strictObject({ account_id: z.string().optional() });
  const chargesOf = async (more: object, given: Partial<InvocationContext>, account_id?: unknown) => {
    const charges: Charge[] = [];
    const charge = async (what: Charge) => void charges.push(what);
    const raw = { ...plain, params: account_id === undefined ? {} : { account_id } };
    // The call is charged even if it fails.
    await invoke(toy(writing("a"), { params, ...more }), raw, contextWith({ ...given, charge })).catch(() => undefined);
    return charges.map(({ principalId: _, isMember: __, ...rest }) => rest);
  };
  const id = randomUUID().toUpperCase();

  test("are one charge of the route's class, in the account of the call, with the account's id in lower case", async () => {
    const one = { class: "default", cost: 1, onlyOwn: false };
    expect(await chargesOf({}, {})).toEqual([one]);
    expect(await chargesOf({}, {}, id)).toEqual([{ ...one, accountId: id.toLowerCase() }]);
    for (const wrong of ["short", `${id}0`, 7]) expect(await chargesOf({}, {}, wrong)).toEqual([one]);
    expect(await chargesOf({ public: true }, {}, id)).toEqual([one]);
  });

  test("are none if the program has paid, except for the account's own limit and for classes that the program has not paid", async () => {
    expect(await chargesOf({}, { paid: { ownLimitOf: undefined } })).toEqual([]);
    expect(await chargesOf({}, { paid: { ownLimitOf: undefined } }, id)).toMatchObject([
      { onlyOwn: true, accountId: id.toLowerCase() },
    ]);
    expect(await chargesOf({}, { paid: { ownLimitOf: id.toLowerCase() } }, id)).toEqual([]);
    expect(await chargesOf({ limit: "search" }, { paid: { ownLimitOf: undefined } })).toEqual([
      { class: "search", cost: 1, onlyOwn: false },
    ]);
  });
});

describe("the caller of a public route", () => {
  const seen = async (given: Partial<InvocationContext>) => {
    let caller: Context["principal"] | undefined;
    const route = toy(
      async ({ principal }) => {
        caller = principal;
        return { id: "a" };
      },
      { public: true, access: "read" },
    );
    await invoke(route, plain, contextWith(given));
    return caller;
  };

  test("is identified by the network of the caller's address", async () => {
    const sourceIp = "2001:db8:1:2:3:4:5:6";
    expect(await seen({ sourceIp })).toEqual({ type: "user", id: "ip/2001:db8:1:2::/64", email: "", groups: [] });
  });

  test("is the sender of the program in code mode", async () => {
    const user = newUser();
    expect(await seen({ ...codeContext(user), paid: { ownLimitOf: undefined } })).toMatchObject({ id: user.id });
  });
});

test("If-Match is refused only by a route that does not support it", () => {
  const headers = { "if-match": '"a"' };
  expect(() => requireHonoured(undefined, { headers })).toThrow(/does not support `If-Match`/);
  for (const [kind, sent] of [
    [workspaceKind, { headers }],
    [undefined, { headers: {} }],
    [undefined, {}],
  ] as const) {
    expect(() => requireHonoured(kind, sent)).not.toThrow();
  }
});

describe("nothing is done", () => {
  const counted = (more: object = {}) => {
    let runs = 0;
    const route = toy((context) => writing(`run ${(runs += 1)}`)(context), more);
    return { route, runs: () => runs };
  };

  test("for a caller without room in the rate limit, whose 429 comes before any other error", async () => {
    const limited = new Problem("rate_limited", "Wait.");
    const at = contextWith({ charge: () => Promise.reject(limited) });
    const { route, runs } = counted();
    await expect(invoke(route, plain, at)).rejects.toBe(limited);
    await expect(invoke(route, { ...plain, body: { unknown: 1 } }, at)).rejects.toBe(limited);
    expect(runs()).toBe(0);
  });

  test("for a condition that the route does not support", async () => {
    const { route, runs } = counted();
    const headers = { "if-match": '"a"' };
    await expect(invoke(route, { ...plain, headers }, contextWith())).rejects.toMatchObject({
      code: "precondition_failed",
    });
    expect(runs()).toBe(0);
  });
});

test("a refused read of a program stays refused, because reads have no key", async () => {
  const refusal = new Problem("forbidden", "No.");
  const subject = { at: "path", within: [], find: async () => Promise.reject(refusal) };
  const route = toy(writing("a"), { subject, access: "read" });
  await expect(invoke(route, { ...plain, callKey: "c" }, contextWith())).rejects.toBe(refusal);
});

test("a refused call of a program stays refused if the call was never made before", async () => {
  const refusal = new Problem("forbidden", "No.");
  const at = contextWith({ table: testTable() });
  const subject = { at: "path", within: [], find: async () => Promise.reject(refusal) };
  const route = toy(writing("a"), { subject });
  await expect(invoke(route, { ...plain, callKey: "c" }, at)).rejects.toBe(refusal);
  await expect(invoke(route, plain, at)).rejects.toBe(refusal);
});

test("a rehearsal goes on after a transaction without writes, and returns the refusal that comes after it", async () => {
  const route = toy(async (context) => {
    const { id } = await writing("none")(context);
    throw new Problem("out_of_stock", `Refused after the transaction of ${id}.`);
  });
  const { refusal } = await rehearse(route, plain, contextWith());
  expect(refusal).toMatchObject({ status: 409, message: "Refused after the transaction of none." });
});
