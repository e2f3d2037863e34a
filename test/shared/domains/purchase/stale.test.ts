import { expect, test } from "vitest";

import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { Refused, type Registrar } from "../../../../shared/providers/registrar/registrar.ts";
import { advance, storedAs } from "../../../support/domain-work.ts";
import { purchase, uniqueName } from "../../../support/domains.ts";
import { buyer, happened, registered, wallet } from "../../../support/purchases.ts";
import { testTable } from "../../../support/world.ts";

test("a refusal does not end a purchase that another process has begun at the registrar meanwhile", async () => {
  const [account, name] = [await buyer(1_400), uniqueName("slow-d")];
  await purchase(account, [name]);
  const getThrough = async (): Promise<void> => {
    for (let tries = 0; (await storedAs(account, name)).purchase?.stage !== "running"; tries++) {
      if (tries > 20) throw new Error("the registrar was never asked");
      await advance(account, name);
    }
  };
  const refusing: Registrar = {
    ...embeddedRegistrar(testTable(), () => new Date()),
    register: () => Promise.reject(new Refused("It is not for sale.")),
    // Finds no operation. But before this look-up returns, another process begins the operation.
    findOperation: async () => {
      await getThrough();
      return undefined;
    },
  };
  await advance(account, name, { registrar: refusing });
  expect(await storedAs(account, name)).toMatchObject({ status: "pending_registration", is_open: true });
  expect(await wallet(account)).toEqual({ posted: 1_400, available: 0 });
  expect(await registered(account, name)).toMatchObject({ status: "pending_delegation" });
  expect(await wallet(account)).toEqual({ posted: 0, available: 0 });
  expect(await happened(account)).not.toContain("domain.registration_failed");
});
