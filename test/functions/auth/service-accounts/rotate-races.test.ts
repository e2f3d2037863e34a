import { expect, test } from "vitest";

import { accessKey, groupsKey } from "../../../../shared/accounts/standing.ts";
import type { Key } from "../../../../shared/table/writes.ts";
import { asOwner, giveGroup, join, makeOwner, newGroup } from "../../../support/auth.ts";
import { afterReading } from "../../../support/between.ts";
import { useOf } from "../../../support/programs.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newMember, newServiceAccount, type Account } from "../../../support/world.ts";

/**
 * A service account in a group, and a function that rotates the service account. The caller of the rotation has only
 * auth.manage, so the rotation succeeds while the service account and the group have no permissions.
 */
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
    "the service account becomes an owner",
    {
      where: own,
      give: ({ account, program }) => makeOwner(account, program.id, "service_account"),
      missing: "account_owner",
    },
  ],
  [
    "the group of the service account gets a grant",
    {
      where: ofGroups,
      give: ({ account, group }) => giveGroup(account, group, "billing.manage"),
      missing: "billing.manage",
    },
  ],
  [
    "the service account is added to a group with a grant",
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
])("a rotation that has already read the permissions is refused if %s", async (_, more) => {
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
