import { expect, test } from "vitest";

import { accessKey, groupsKey } from "../../../../shared/accounts/standing.ts";
import type { Key } from "../../../../shared/table/writes.ts";
import { asOwner, giveGroup, join, makeOwner, newGroup } from "../../../support/auth.ts";
import { afterReading } from "../../../support/between.ts";
import { useOf } from "../../../support/programs.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newMember, newServiceAccount, type Account } from "../../../support/world.ts";

/** A program in a group, and somebody who may rotate it as long as neither holds anything. */
async function scene() {
  const account = await newAccount();
  const group = await newGroup(account, "Programs");
  const program = await newServiceAccount(account);
  await join(account, group, program.id, "service_account");
  const manager = await newMember(account, { capability: "auth.manage" });
  const path = `/v1/public/accounts/${account.id}/auth/service-accounts/${program.id}/rotate`;
  const rotate = () => request("POST", path, { token: manager.token, body: { overlap_seconds: 0 } });
  return { account, group, program, rotate };
}

type Scene = Awaited<ReturnType<typeof scene>>;
type More = { where: (scene: Scene) => Key; give: (scene: Scene) => Promise<unknown>; missing: string };

const own = ({ account, program }: Scene): Key => accessKey(account.id, { type: "service_account", id: program.id });
const ofGroups = ({ account }: { account: Account }): Key => groupsKey(account.id);

test.each<[string, More]>([
  [
    "it became an owner",
    {
      where: own,
      give: ({ account, program }) => makeOwner(account, program.id, "service_account"),
      missing: "account_owner",
    },
  ],
  [
    "its group was given something",
    {
      where: ofGroups,
      give: ({ account, group }) => giveGroup(account, group, "billing.manage"),
      missing: "billing.manage",
    },
  ],
  [
    "it was put into a group that holds something",
    {
      where: own,
      give: async ({ account, program }) => {
        const rich = await newGroup(account, "Rich");
        await giveGroup(account, rich, "billing.manage");
        await join(account, rich, program.id, "service_account");
      },
      missing: "billing.manage",
    },
  ],
])("nobody gets a token that may do more than it could when they were checked: meanwhile %s", async (_, more) => {
  const opened = await scene();
  const { PK, SK } = more.where(opened);
  const { body } = await afterReading(
    (key) => key.PK === PK && key.SK === SK,
    () => more.give(opened),
    opened.rotate,
  );
  expect(body).toMatchObject({ status: 403, code: "would_escalate", missing: [more.missing] });
  expect(await useOf(opened.program.token)).toEqual([200, 200]);
  expect(await asOwner(opened.account, "GET", "service-accounts")).toHaveLength(1);
});
