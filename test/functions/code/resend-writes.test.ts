import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { execute } from "../../../functions/code/execution/execute.ts";
import { routes } from "../../../functions/routes.ts";
import { holdsSecret } from "../../../shared/http/route.ts";
import { programOf } from "../../support/call.ts";
import { codeContext } from "../../support/code-context.ts";
import { storedOf } from "../../support/entry-points.ts";
import { examples } from "../../support/examples.ts";
import { newAccount } from "../../support/world.ts";

const writes = routes.filter(({ access }) => access === "write");

describe.each(writes.map((route) => [route.name, route] as const))(
  "%s in a program that runs twice with the same key",
  (_, route) => {
    test("is done once; the second run gets the same answer, or a refusal if the answer cannot be stored", async () => {
      const account = await newAccount();
      const code = programOf(route, (await examples[route.name]?.(account)) ?? {});
      const run = { code, requestId: randomUUID(), key: randomUUID() };
      const context = codeContext(account.owner);
      const first = await execute(run, context);
      expect(first).toMatchObject({ status: "completed" });
      const after = await storedOf(account);
      const again = await execute(run, context);
      if (holdsSecret(route, first.result.last_value) || !route.codeMode.storesAnswer)
        expect(again.error).toMatchObject({ code: "secret_already_shown" });
      else expect(again).toEqual(first);
      expect(await storedOf(account)).toEqual(after);
    });
  },
);
