import { afterEach, describe, expect, test, vi } from "vitest";

import { asOwner } from "../../../support/auth.ts";
import { entryPoints, through } from "../../../support/entry-points.ts";
import { newProgram, useOf } from "../../../support/programs.ts";
import { newAccount, type Account } from "../../../support/world.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const list = async ({ id, owner }: Account) =>
    (await attempt("auth.service_accounts.list", { account_id: id }, owner)).body;

  test("lists all service accounts of the account, also revoked ones, oldest first and without their tokens", async () => {
    const account = await newAccount();
    const { token: _, ...first } = await newProgram(attempt, account, { name: "First" });
    const { token: __, ...second } = await newProgram(attempt, account, { name: "Second" });
    await newProgram(attempt, await newAccount());
    expect(await list(account)).toEqual([first, second]);
    await asOwner(account, "DELETE", `service-accounts/${first.id}`);
    expect(await list(account)).toEqual([{ ...first, revoked_at: expect.stringMatching(/\.\d{3}Z$/) }, second]);
  });

  test("shows the last use of the token, which is recorded at most once an hour", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const lastUse = async () => Date.parse((await list(account))[0].last_used_at);
    expect((await list(account))[0].last_used_at).toBe(null);
    const start = Date.now() + 60_000;
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    await through(entryPoint)("me.get", {}, program);
    expect(await lastUse()).toBe(start);
    vi.setSystemTime(start + 3_599_000);
    expect(await useOf(program.token)).toEqual([200, 200]);
    expect(await lastUse()).toBe(start);
    vi.setSystemTime(start + 3_600_000);
    await through(entryPoint)("me.get", {}, program);
    expect(await lastUse()).toBe(start + 3_600_000);
  });

  test("a request with a refused token does not count as a use", async () => {
    const account = await newAccount();
    const { token } = await newProgram(attempt, account);
    const forged = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
    expect(await useOf(forged)).toEqual(["unauthenticated", "unauthenticated"]);
    expect((await list(account))[0].last_used_at).toBe(null);
  });

  test.each([0, 60])(
    "after a rotation with an overlap of %i s, the list and the answer of the rotation show the last use before it",
    async (overlap) => {
      const account = await newAccount();
      const program = await newProgram(attempt, account);
      await useOf(program.token);
      const [{ last_used_at: before }] = await list(account);
      const args = { account_id: account.id, service_account_id: program.id, overlap_seconds: overlap };
      const rotated = await attempt("auth.service_accounts.rotate", args, account.owner);
      expect(before).toEqual(expect.any(String));
      expect(rotated.body.last_used_at).toBe(before);
      expect((await list(account))[0].last_used_at).toBe(before);
      await attempt("auth.service_accounts.rotate", args, account.owner);
      expect((await list(account))[0].last_used_at).toBe(before);
    },
  );
});
