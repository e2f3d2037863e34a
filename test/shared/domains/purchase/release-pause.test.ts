import { expect, test } from "vitest";

import { registerElsewhere } from "../../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import type { Registrar } from "../../../../shared/providers/registrar/registrar.ts";
import { advance, setStored, storedAs } from "../../../support/domain-work.ts";
import { purchase, uniqueName } from "../../../support/domains.ts";
import { buyer, registered, wallet } from "../../../support/purchases.ts";
import { registrationAt } from "../../../support/renewals.ts";
import { authCode, lookAtTransfer, transfer, transferred } from "../../../support/transfers.ts";
import { testTable, type Account } from "../../../support/world.ts";

type Again = { begin: (account: Account, name: string) => Promise<void>; end: typeof registered };

/** Ways in which an account gets a name again. `begin` orders the name and runs the worker once. */
const ways: Record<string, Again> = {
  transferred: {
    begin: async (account, name) => {
      await registerElsewhere(testTable(), name, { auth_code: authCode });
      await transfer(account, [name]);
      await lookAtTransfer(account, name);
    },
    end: transferred,
  },
  registered: {
    begin: async (account, name) => {
      await purchase(account, [name]);
      await advance(account, name);
    },
    end: registered,
  },
};

test.each(Object.keys(ways))(
  "a late request to release a former registration does not give up a name that is %s again",
  async (way) => {
    const { begin, end } = ways[way] as Again;
    const [account, name] = [await buyer(10_000), uniqueName()];
    await purchase(account, [name]);
    await registered(account, name);
    const { id } = await storedAs(account, name);
    await setStored(account, name, { status: "releasing", is_open: false });
    const plain = embeddedRegistrar(testTable(), () => new Date());
    const late: Registrar = {
      ...plain,
      // Before this request arrives, another process deletes the domain, and the account gets the name again.
      release: async () => {
        await advance(account, name);
        await begin(account, name);
        await plain.release(name);
      },
    };
    await advance(account, name, { registrar: late });
    const again = await end(account, name);
    expect(again.id).not.toBe(id);
    expect(again).toMatchObject({ status: "pending_delegation", registration: { status: "active" } });
    expect((await registrationAt(name)).phase).toBe("registered");
    expect(await wallet(account)).toEqual({ posted: 7_200, available: 7_200 });
  },
);
